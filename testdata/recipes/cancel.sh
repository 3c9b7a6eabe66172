# Cancel a checkout before its confirm. Takes BASE, KEY and CHECKOUT from the environment.
set -eu

# The same request again is safe: curl sends it while the answer is late, 429 or 5xx.
curl -sS --fail --max-time 30 --retry 4 "$BASE/v1/provider-checkouts/$CHECKOUT/cancel" \
  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{"reason": "The student chose another course."}'
