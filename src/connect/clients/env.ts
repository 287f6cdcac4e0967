import { openAiUrl, type Client } from '../client.ts';

export const env: Client = {
  title: "programs with OpenAI's or Anthropic's SDK",
  page: null,
  files: () => [],
  run: (server) => ({
    program: null,
    words: [],
    variables: {
      OPENAI_BASE_URL: openAiUrl(server),
      OPENAI_API_KEY: server.key,
      ANTHROPIC_BASE_URL: server.url,
      ANTHROPIC_AUTH_TOKEN: server.key,
    },
  }),
  tryIt: 'node my-program.js',
};
