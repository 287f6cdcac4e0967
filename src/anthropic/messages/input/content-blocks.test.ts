import { describe, expect, it } from 'vitest';

import { read } from '../../../../test/support/messages-ask.ts';
import { refused } from '../../../../test/support/refused.ts';

const readBlocks = (...content: readonly unknown[]) => {
  const { request, ignored } = read({ messages: [{ role: 'user', content }] });
  const [item] = request.items;
  return { parts: item?.kind === 'message' ? item.parts : null, ignored };
};
const text = (value: string) => ({ kind: 'text', text: value });
const document = (source: object, more: object = {}) => ({ type: 'document', source, ...more });
const PNG = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' };
const cached = { cache_control: { type: 'ephemeral', ttl: '1h' } };

describe('content blocks', () => {
  it.each([
    ['a text', { type: 'text', text: 'Hi.', citations: null }, [text('Hi.')]],
    [
      'an image',
      { type: 'image', source: PNG },
      [{ kind: 'image', url: 'data:image/png;base64,iVBORw0KGgo=' }],
    ],
    [
      'an image by URL',
      { type: 'image', source: { type: 'url', url: 'https://images.test/a.png' } },
      [{ kind: 'image', url: 'https://images.test/a.png' }],
    ],
    [
      'a text document',
      document(
        { type: 'text', media_type: 'text/plain', data: 'Rain.' },
        { title: 'Weather', context: 'Today' },
      ),
      [text('Weather\nToday\nRain.')],
    ],
    [
      'a document without a title',
      document({ type: 'text', data: 'Rain.' }, { title: null }),
      [text('Rain.')],
    ],
    [
      'a document of blocks',
      document(
        {
          type: 'content',
          content: [
            { type: 'text', text: 'Rain.' },
            { type: 'image', source: PNG },
          ],
        },
        { title: 'Weather' },
      ),
      [text('Weather'), text('Rain.'), { kind: 'image', url: 'data:image/png;base64,iVBORw0KGgo=' }],
    ],
    ['a document with one content', document({ type: 'content', content: 'Rain.' }), [text('Rain.')]],
    [
      'a PDF',
      document(
        { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
        { title: 'a.pdf', context: 'Mine' },
      ),
      [
        text('Mine'),
        {
          kind: 'file',
          raw: {
            type: 'input_file',
            filename: 'a.pdf',
            file_data: 'data:application/pdf;base64,JVBERi0=',
          },
        },
      ],
    ],
    [
      'a PDF by URL',
      document({ type: 'url', url: 'https://files.test/a.pdf' }, { title: 'Mine' }),
      [text('Mine'), { kind: 'file', raw: { type: 'input_file', file_url: 'https://files.test/a.pdf' } }],
    ],
    [
      'a search result',
      {
        type: 'search_result',
        title: 'Weather',
        source: 'https://weather.test',
        content: [{ type: 'text', text: 'Rain.', ...cached }],
        citations: { enabled: false },
      },
      [text('Weather\nhttps://weather.test'), text('Rain.')],
    ],
  ])('%s has parts', (_, block, parts) => {
    expect(readBlocks({ ...block, ...cached })).toEqual({ parts, ignored: [] });
  });

  it('names what has no effect', () => {
    const { ignored } = readBlocks(
      { type: 'image', source: { ...PNG, name: 'x' }, transformations: {} },
      document({ type: 'text', data: 'Rain.' }, { citations: { enabled: true } }),
    );
    expect(ignored).toEqual([
      'messages[0].content[0].transformations',
      'messages[0].content[0].source.name',
      'messages[0].content[1].citations',
    ]);
  });

  it.each([
    [{ type: 'image', source: { type: 'file', file_id: 'file_1' } }, 'source.type'],
    [document({ type: 'file', file_id: 'file_1' }), 'source.type'],
    [{ type: 'image', source: { ...PNG, media_type: 'image/svg+xml' } }, 'source.media_type'],
    [{ type: 'image', source: { type: 'base64', media_type: 'image/png' } }, 'source.data'],
    [{ type: 'image' }, 'source'],
    [{ type: 'text' }, 'text'],
    [{ type: 'text', text: 1 }, 'text'],
    [{ type: 'search_result', title: 'a', source: 'b' }, 'content'],
    [document({ type: 'content', content: [{ type: 'document' }] }), 'source.content[0].type'],
    [{ type: 'tool_use', id: 'a', name: 'f', input: {} }, 'type'],
    [{}, 'type'],
  ])('rejects %j by its place', (block, place) => {
    const failure = refused(() => readBlocks(block));
    expect([failure.status, failure.param]).toEqual([400, `messages[0].content[0].${place}`]);
  });
});
