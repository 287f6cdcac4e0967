import OpenAI, { toFile } from 'openai';
import { beforeEach, describe, expect, it } from 'vitest';

import { DEMO_IMAGE, imageStep } from '../../src/demo/demo-script.ts';
import { INSTRUCTIONS } from '../../src/openai/images/to-turn.ts';
import { says } from '../support/scripts.ts';
import { shareProxy } from './hooks.ts';
import { itemsSent, type ChatGptProxy } from './proxy.ts';

let proxy: ChatGptProxy;
let client: OpenAI;
shareProxy((started) => {
  proxy = started;
  client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'sk-test-key-0123456789', maxRetries: 0 });
});

const draws = says([imageStep({ result: 'aW1hZ2U=', previews: ['b25l'] })]);
beforeEach(() => proxy.backend.use(draws));

const sent = () => proxy.backend.modelRequests.at(-1);

describe('images of a ChatGPT login', () => {
  it('are generated in the Responses format, by the image model that the service chooses', async () => {
    const { data, response } = await client.images
      .generate({ prompt: 'An otter.', model: 'gpt-image-2', size: '1024x1024', user: 'ann' })
      .withResponse();
    expect(data.data).toEqual([{ b64_json: 'aW1hZ2U=' }]);
    expect(response.headers.get('x-proxy-ignored-params')).toBe('model');
    expect(sent()).toMatchObject({
      requestFormat: 'responses',
      body: {
        instructions: INSTRUCTIONS,
        tools: [{ type: 'image_generation', size: '1024x1024' }],
        tool_choice: { type: 'image_generation' },
        reasoning: { effort: 'low' },
      },
    });
    expect(sent()?.body['tools']).not.toMatchObject([{ model: 'gpt-image-2' }]);
  });

  it('are edited and streamed', async () => {
    const image = await toFile(Buffer.from(DEMO_IMAGE.base64, 'base64'), 'otter.png');
    const stream = await client.images.edit({ prompt: 'Darker.', image, stream: true, partial_images: 1 });
    const types = (await Array.fromAsync(stream)).map(({ type }) => type);
    expect(types).toEqual(['image_edit.partial_image', 'image_edit.completed']);
    expect(itemsSent(sent())).toMatchObject([
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Darker.' },
          { type: 'input_image', image_url: `data:image/png;base64,${DEMO_IMAGE.base64}` },
        ],
      },
    ]);
    expect(sent()?.body['tools']).toEqual([{ type: 'image_generation', action: 'edit', partial_images: 1 }]);
  });
});
