// Vercel AI SDK: streams a text, then lets the SDK run a tool.
//
//   npm install ai @ai-sdk/openai zod
//   export OPENAI_API_KEY=$(cat ~/.codex-app-server-proxy/api-key)
//   node examples/ai-sdk.mjs
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';

const proxy = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL ?? 'http://127.0.0.1:11435/v1' });

const { textStream } = streamText({ model: proxy('codex-5'), prompt: 'Say hello.' });
for await (const text of textStream) process.stdout.write(text);
console.log();

const { text, steps } = await generateText({
  model: proxy('codex-5'),
  prompt: 'What is the weather in Paris?',
  tools: {
    get_weather: tool({
      description: 'The weather in a city',
      inputSchema: z.object({ city: z.string() }),
      execute: async () => 'Sunny, 21 °C',
    }),
  },
  stopWhen: stepCountIs(2),
});
console.log(`The model calls ${steps[0].toolCalls[0].toolName}`);
console.log(text);
