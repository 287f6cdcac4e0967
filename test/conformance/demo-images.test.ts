import { expect, it } from 'vitest';

import { DEMO_IMAGE, demoImage, demoScript } from '../../src/demo/demo-script.ts';
import { openProxy } from '../support/open-proxy.ts';

const { openai, model } = await openProxy(demoScript(), { PROXY_IMAGE_MODEL: 'gpt-5.5' });
const ask = { prompt: 'A sea otter.', model: 'gpt-image-2' } as const;

it('the demo model draws the word DEMO, and the chat model is a setting', async () => {
  const [image] = (await openai.images.generate(ask)).data ?? [];
  expect(image).toEqual({
    b64_json: DEMO_IMAGE.base64,
    revised_prompt: expect.stringContaining('demo model'),
  });
  expect(model.requests.at(-1)?.body).toMatchObject({ model: 'gpt-5.5', reasoning: { effort: 'low' } });
});

it('the demo model draws in the requested size, through either API', async () => {
  const size = '1536x1024';
  const drawn = await openai.images.generate({ ...ask, size });
  expect([drawn.size, drawn.data?.[0]?.b64_json]).toEqual([size, demoImage(size).base64]);
  const { output } = await openai.responses.create({
    model: 'gpt-5.5',
    input: 'A cat',
    tools: [{ type: 'image_generation', size }],
    tool_choice: { type: 'image_generation' },
  });
  expect(output).toMatchObject([{ type: 'image_generation_call', result: demoImage(size).base64 }]);
});
