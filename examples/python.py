# Python, with the package of OpenAI: a stream, then an answer as JSON.
#
#   pip install openai
#   export OPENAI_API_KEY=$(cat ~/.codex-app-server-proxy/api-key)
#   python examples/python.py
import json
import os

from openai import OpenAI

client = OpenAI(base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:11435/v1"))

for event in client.responses.create(model="codex-5", input="Say hello.", stream=True):
    if event.type == "response.output_text.delta":
        print(event.delta, end="", flush=True)
print()

person = client.responses.create(
    model="codex-5",
    input="Make up a person.",
    text={
        "format": {
            "type": "json_schema",
            "name": "person",
            "strict": True,
            "schema": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
                "required": ["name", "age"],
                "additionalProperties": False,
            },
        }
    },
)
print(sorted(json.loads(person.output_text)))
