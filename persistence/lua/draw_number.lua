-- Draws a number larger than all that were drawn before.
-- KEYS[1]: the last one. ARGV[1]: the least allowed. ARGV[2]: milliseconds to remember it.
-- Returns the number.
local last = tonumber(redis.call('GET', KEYS[1]) or 0)
local number = math.max(last + 1, tonumber(ARGV[1]))
redis.call('SET', KEYS[1], string.format('%.0f', number), 'PX', ARGV[2])
return number
