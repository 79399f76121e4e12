-- Gives a new ttl to each lease that its token still holds.
-- KEYS: the leases. ARGV[1]: ttl in milliseconds.
-- ARGV[1 + i]: the mark of KEYS[i]: the value begins with it if this very token holds it.
-- Returns for each key: 1 renewed, 0 it is free or held by another one.
local verdicts = {}
for i, key in ipairs(KEYS) do
  local mark = ARGV[1 + i]
  local value = redis.call('GET', key)
  if value and string.sub(value, 1, #mark) == mark then
    verdicts[i] = redis.call('PEXPIRE', key, ARGV[1])
  else
    verdicts[i] = 0
  end
end
return verdicts
