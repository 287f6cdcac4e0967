import { APIError, toFile } from 'openai';
import { describe, expect, it } from 'vitest';

import { DEMO_IMAGE, imageStep, type DrawnImage } from '../../src/demo/demo-script.ts';
import type { Script } from '../../src/demo/model-server.ts';
import { INSTRUCTIONS } from '../../src/openai/images/to-turn.ts';
import { freshProxies, openProxy } from '../support/open-proxy.ts';
import { HELLO_USAGE, http400, inTurn, says } from '../support/scripts.ts';

/** OpenAI's own SDK requests images: each is a turn with the backend's image tool. */

const SETTINGS = { size: '1024x1024', quality: 'high', background: 'opaque', output_format: 'png' } as const;

const draws = (image: Partial<DrawnImage> = {}): Script =>
  says([imageStep({ result: 'aW1hZ2U=', details: SETTINGS, ...image })], { usage: HELLO_USAGE });

const USAGE = {
  input_tokens: 11,
  input_tokens_details: { text_tokens: 11, image_tokens: 0 },
  output_tokens: 7,
  total_tokens: 18,
};

const proxy = await openProxy(draws());
const client = proxy.openai;
const sent = () => proxy.model.requests.at(-1)?.body;
const ask = { prompt: 'A sea otter.', model: 'gpt-image-2' } as const;
const png = Buffer.from(DEMO_IMAGE.base64, 'base64');
const dataUrl = `data:image/png;base64,${DEMO_IMAGE.base64}`;
const file = (name = 'otter.png') => toFile(png, name);

/** The error of a call that must fail. */
const failureOf = async (call: Promise<unknown>): Promise<unknown> => {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
    const { status, type, code, param, message } = error;
    return { status, type, code, param, message };
  }
};

const eventsOf = async <Event>(stream: Promise<AsyncIterable<Event>>): Promise<readonly Event[]> =>
  Array.fromAsync(await stream);

describe('an image', () => {
  it("is drawn by a turn that must call the tool, with the client's settings", async () => {
    proxy.use(draws({ details: { ...SETTINGS, revised_prompt: 'An otter.' } }));
    const answered = await client.images
      .generate({ ...ask, ...SETTINGS, output_compression: 80, moderation: 'low', user: 'ann' })
      .withResponse();
    expect(answered.data).toEqual({
      created: expect.any(Number),
      data: [{ b64_json: 'aW1hZ2U=', revised_prompt: 'An otter.' }],
      ...SETTINGS,
      usage: USAGE,
    });
    expect(answered.response.headers.get('x-proxy-ignored-params')).toBe(null);
    expect(sent()).toMatchObject({
      instructions: INSTRUCTIONS,
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'A sea otter.' }] }],
      tools: [
        {
          type: 'image_generation',
          model: 'gpt-image-2',
          ...SETTINGS,
          output_compression: 80,
          moderation: 'low',
        },
      ],
      tool_choice: { type: 'image_generation' },
      user: 'ann',
    });
  });

  it('needs only a prompt', async () => {
    proxy.use(draws({ details: {} }));
    const { created: _, ...answer } = await client.images.generate({ prompt: 'x' });
    expect(answer).toEqual({ data: [{ b64_json: 'aW1hZ2U=' }], output_format: 'png', usage: USAGE });
    expect(sent()?.['tools']).toEqual([{ type: 'image_generation' }]);
  });

  it('can be requested several times, with the summed usage', async () => {
    proxy.use(inTurn(draws({ result: 'b25l' }), draws({ result: 'dHdv' })));
    const { data, usage } = await client.images.generate({ ...ask, n: 2 });
    expect(data?.map(({ b64_json }) => b64_json).toSorted()).toEqual(['b25l', 'dHdv']);
    expect(usage).toMatchObject({ input_tokens: 22, output_tokens: 14, total_tokens: 36 });
  });

  it('is streamed after its previews', async () => {
    proxy.use(draws({ previews: ['b25l', 'dHdv'] }));
    const events = await eventsOf(client.images.generate({ ...ask, stream: true, partial_images: 2 }));
    const common = { created_at: expect.any(Number), ...SETTINGS };
    const type = 'image_generation.partial_image';
    expect(events).toEqual([
      { type, b64_json: 'b25l', partial_image_index: 0, ...common },
      { type, b64_json: 'dHdv', partial_image_index: 1, ...common },
      { type: 'image_generation.completed', b64_json: 'aW1hZ2U=', ...common, usage: USAGE },
    ]);
    expect(sent()?.['tools']).toMatchObject([{ partial_images: 2 }]);
  });

  it('of two megabytes arrives complete, as JSON and in a stream', async () => {
    const result = Buffer.alloc(1_500_000, 'otter').toString('base64');
    proxy.use(draws({ result }));
    const { data } = await client.images.generate(ask);
    expect(data?.[0]?.b64_json === result).toBe(true);
    const [event] = await eventsOf(client.images.generate({ ...ask, stream: true }));
    expect(event?.b64_json === result).toBe(true);
  });

  it('cannot be drawn by DALL·E: its settings are translated where possible, and others are named', async () => {
    proxy.use(draws());
    const { response } = await client.images
      .generate({
        prompt: 'x',
        model: 'dall-e-3',
        quality: 'hd',
        style: 'vivid',
        response_format: 'b64_json',
        partial_images: 1,
      })
      .withResponse();
    expect(response.headers.get('x-proxy-ignored-params')).toBe('model, style, partial_images');
    expect(sent()?.['tools']).toEqual([{ type: 'image_generation', quality: 'high' }]);
  });
});

describe('an edit', () => {
  const input = (count: number) => [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'A sea otter.' },
        ...Array.from({ length: count }, () => ({ type: 'input_image', image_url: dataUrl })),
      ],
    },
  ];

  it('accepts a form with files, a mask and settings', async () => {
    proxy.use(draws());
    const { created: _, ...answer } = await client.images.edit({
      ...ask,
      image: [await file('a.png'), await file('b')],
      mask: await file('mask.png'),
      n: 1,
      output_compression: 50,
      input_fidelity: 'high',
    });
    expect(answer).toEqual({ data: [{ b64_json: 'aW1hZ2U=' }], ...SETTINGS, usage: USAGE });
    expect(sent()).toMatchObject({
      input: input(2),
      tools: [
        {
          type: 'image_generation',
          action: 'edit',
          model: 'gpt-image-2',
          output_compression: 50,
          input_fidelity: 'high',
          input_image_mask: { image_url: dataUrl },
        },
      ],
    });
  });

  it('streams its events under its own name', async () => {
    proxy.use(draws({ previews: ['b25l'] }));
    const image = await file();
    const events = await eventsOf(
      client.images.edit({ ...ask, image, stream: true, partial_images: 1, n: 1 }),
    );
    expect(events.map(({ type }) => type)).toEqual(['image_edit.partial_image', 'image_edit.completed']);
    expect(sent()).toMatchObject({ input: input(1) });
  });

  it('accepts JSON with data URLs', async () => {
    proxy.use(draws());
    const body = { ...ask, images: [{ image_url: dataUrl }], mask: { image_url: dataUrl } };
    const response = await proxy.post('/v1/images/edits', body);
    expect(response.status).toBe(200);
    expect(sent()).toMatchObject({
      input: input(1),
      tools: [{ action: 'edit', input_image_mask: { image_url: dataUrl } }],
    });
  });

  it.each([
    ['no image', { prompt: 'x' }, 'missing_required_parameter', 'images'],
    [
      'an id of a file',
      { prompt: 'x', images: [{ file_id: 'f' }] },
      'unsupported_value',
      'images[0].file_id',
    ],
    ['an invalid image', { prompt: 'x', images: [{ image_url: 'data:x' }] }, 'invalid_image', 'images[0]'],
    [
      'a mask that is not an image',
      { prompt: 'x', images: [{ image_url: dataUrl }], mask: { image_url: 'data:x' } },
      'invalid_image',
      'mask',
    ],
  ])('rejects %s', async (_, body, code, param) => {
    const response = await proxy.post('/v1/images/edits', body);
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code, param } }]);
  });

  it.each([
    ['a file that is not an image', [['image', new File(['text'], 'a.png')]], 'invalid_image', 'image[0]'],
    ['a text for a file', [['image', 'text']], 'invalid_type', 'image'],
    ['no file', [], 'missing_required_parameter', 'image'],
    ['a number that is text', [['n', 'two']], 'invalid_type', 'n'],
    [
      'a field twice',
      [
        ['size', 'auto'],
        ['size', 'auto'],
      ],
      'invalid_value',
      'size',
    ],
  ] as const)('rejects a form with %s', async (_, fields, code, param) => {
    const form = new FormData();
    form.append('prompt', 'x');
    for (const [name, value] of fields) form.append(name, value);
    const response = await fetch(`${proxy.url}/v1/images/edits`, {
      method: 'POST',
      body: form,
      headers: { authorization: `Bearer ${proxy.key}` },
    });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code, param } }]);
  });

  it('rejects a body that is not the form that its header claims', async () => {
    const response = await proxy.post('/v1/images/edits', null, {
      body: 'no form',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: 'invalid_form' } },
    ]);
  });
});

describe('an error instead of an image', () => {
  const generate = () => client.images.generate(ask);
  const streamed = () => eventsOf(client.images.generate({ ...ask, stream: true }));
  const blocked = { type: 'image_generation_user_error', code: 'moderation_blocked' };

  it.each([
    [
      'the model refuses',
      says([{ refusal: 'I will not draw this.' }]),
      400,
      blocked,
      'I will not draw this.',
    ],
    [
      'the tool refuses',
      draws({ result: null, details: { error: { code: 'moderation_blocked', message: 'Rejected.' } } }),
      400,
      blocked,
      'Rejected.',
    ],
    ['the answer is filtered', says([{ incomplete: 'content_filter' }]), 400, blocked, 'safety system'],
    [
      'the answer fails',
      says([{ fail: { code: 'moderation_blocked', message: 'Rejected by the safety system.' } }]),
      400,
      blocked,
      'Rejected by the safety system.',
    ],
    [
      'the model only talks',
      says([{ text: 'What a nice otter.' }]),
      502,
      { type: 'server_error', code: 'image_not_generated' },
      'It said: What a nice otter.',
    ],
  ])('is returned when %s', async (_, script, status, error, words) => {
    proxy.use(script);
    const message = expect.stringContaining(words);
    expect(await failureOf(generate())).toMatchObject({ status, ...error, message });
    expect(await failureOf(streamed())).toMatchObject({ ...error, message });
  });

  it("has the backend's message if the backend rejects the tool", async () => {
    proxy.use(http400("Invalid value: 'huge'.", 'tools[0].size'));
    expect(await failureOf(client.images.generate({ ...ask, size: 'huge' }))).toMatchObject({
      status: 400,
      message: expect.stringContaining("Invalid value: 'huge'."),
    });
  });
});

describe('other backends', () => {
  const open = freshProxies();

  it('cannot draw images without the relay, and the error is immediate', async () => {
    const { openai, model } = await open(draws(), { PROXY_WIRE: 'off' });
    expect(await failureOf(openai.images.generate(ask))).toMatchObject({
      status: 404,
      code: 'endpoint_not_supported',
    });
    expect(model.requests).toEqual([]);
  });
});
