#!/bin/sh
# curl: a whole answer, then a stream. Needs nothing but curl.
#
#   export OPENAI_API_KEY=$(cat ~/.codex-app-server-proxy/api-key)
#   sh examples/curl.sh
set -eu
url=${OPENAI_BASE_URL:-http://127.0.0.1:11435/v1}

ask() {
  curl --silent --show-error --fail-with-body --no-buffer "$url/$1" \
    -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' -d "$2"
  echo
}

echo '--- Responses, whole'
ask responses '{"model": "codex-5", "input": "Say hello."}'

echo '--- Chat Completions, as a stream'
ask chat/completions '{
  "model": "codex-5",
  "messages": [{"role": "user", "content": "Say hello."}],
  "stream": true
}'
