// Node with the openai package: streams a text, then handles a tool call.
//
//   npm install openai            (in a clone of this repository it is there)
//   export OPENAI_API_KEY=$(cat ~/.codex-app-server-proxy/api-key)
//   node examples/node.mjs
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: process.env.OPENAI_BASE_URL ?? 'http://127.0.0.1:11435/v1' });

const stream = await client.responses.create({ model: 'codex-5', input: 'Say hello.', stream: true });
for await (const event of stream) {
  if (event.type === 'response.output_text.delta') process.stdout.write(event.delta);
}
console.log();

const tools = [
  {
    type: 'function',
    name: 'get_weather',
    description: 'The weather in a city',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
    strict: true,
  },
];
const input = [{ role: 'user', content: 'What is the weather in Paris?' }];

const asked = await client.responses.create({ model: 'codex-5', input, tools });
const call = asked.output.find((item) => item.type === 'function_call');
console.log(`The model calls ${call.name} with ${call.arguments}`);

// The server has the conversation: send only the tool's output.
const answered = await client.responses.create({
  model: 'codex-5',
  previous_response_id: asked.id,
  input: [{ type: 'function_call_output', call_id: call.call_id, output: 'Sunny, 21 °C' }],
  tools,
});
console.log(answered.output_text);
