-- Takes each lease that is free; one that its token already holds gets a new ttl.
-- KEYS: the leases. ARGV[1]: ttl in milliseconds. ARGV[2]: who holds them, as text.
-- ARGV[2 + i]: the mark of KEYS[i]: the value begins with it if this very token holds it.
-- Returns for each key: 1 it is held by its token, 0 by another one.
local verdicts = {}
for i, key in ipairs(KEYS) do
  local mark = ARGV[2 + i]
  if redis.call('SET', key, mark .. ARGV[2], 'NX', 'PX', ARGV[1]) then
    verdicts[i] = 1
  elseif string.sub(redis.call('GET', key), 1, #mark) == mark then
    verdicts[i] = redis.call('PEXPIRE', key, ARGV[1])
  else
    verdicts[i] = 0
  end
end
return verdicts
