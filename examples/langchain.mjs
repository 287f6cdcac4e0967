// LangChain: streams a text, then gets an answer as JSON.
//
//   npm install @langchain/openai @langchain/core zod
//   export OPENAI_API_KEY=$(cat ~/.codex-app-server-proxy/api-key)
//   node examples/langchain.mjs
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';

const model = new ChatOpenAI({
  model: 'codex-5',
  configuration: { baseURL: process.env.OPENAI_BASE_URL ?? 'http://127.0.0.1:11435/v1' },
});

for await (const chunk of await model.stream('Say hello.')) process.stdout.write(chunk.text);
console.log();

const Person = z.object({ name: z.string(), age: z.number().int() });
const person = await model.withStructuredOutput(Person, { method: 'jsonSchema' }).invoke('Make up a person.');
console.log(person);
