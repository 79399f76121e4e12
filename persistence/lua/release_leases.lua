-- Frees each lease that its token still holds.
-- KEYS: the leases.
-- ARGV[i]: the mark of KEYS[i]: the value begins with it if this very token holds it.
-- Returns for each key: 1 freed, 0 it is free or held by another one.
local verdicts = {}
for i, key in ipairs(KEYS) do
  local value = redis.call('GET', key)
  if value and string.sub(value, 1, #ARGV[i]) == ARGV[i] then
    verdicts[i] = redis.call('DEL', key)
  else
    verdicts[i] = 0
  end
end
return verdicts
