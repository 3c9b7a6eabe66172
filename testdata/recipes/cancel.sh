# Cancel a checkout before its confirm. Takes BASE, KEY and CHECKOUT from the environment.
set -e

curl -sS --fail "$BASE/v1/provider-checkouts/$CHECKOUT/cancel" -H "Authorization: Bearer $KEY" \
  -H 'Content-Type: application/json' -d '{"reason": "The student chose another course."}'
