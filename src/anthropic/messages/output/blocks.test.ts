import { describe, expect, it } from 'vitest';

import { TextSigner } from '../../../store/text-signer.ts';
import type { HostedCall, Message, Produced } from '../../../canonical/request/item.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { projectBlocks } from './blocks.ts';

const search = (id: string, raw: JsonObject, more: Partial<HostedCall> = {}): Produced => ({
  kind: 'hosted-call',
  id,
  raw: { type: 'web_search_call', ...raw },
  status: 'completed',
  ...more,
});

const cites = (text: string, ...urls: readonly string[]): Produced<Message> => ({
  kind: 'message',
  id: `msg_${text}`,
  role: 'assistant',
  parts: [
    {
      kind: 'text',
      text,
      annotations: urls.map((url) => ({ type: 'url_citation', url, title: `Title of ${url}` })),
    },
  ],
});

const blocks = (...items: readonly Produced[]) =>
  projectBlocks(items, { thinking: null, signer: new TextSigner([]) });

const use = (id: string, input: JsonObject) => ({
  type: 'server_tool_use',
  id: `srvtoolu_${id}`,
  name: 'web_search',
  input,
});
const result = (id: string, content: unknown) => ({
  type: 'web_search_tool_result',
  tool_use_id: `srvtoolu_${id}`,
  content,
});
const page = (url: string, title: string) => ({
  type: 'web_search_result',
  url,
  title,
  encrypted_content: '',
  page_age: null,
});

describe('a web search', () => {
  it('is a call and its result', () => {
    const action = {
      type: 'search',
      query: 'q',
      sources: [{ type: 'url', url: 'https://a.b/' }, { type: 'url', url: 'https://c.d/', title: 'C' }, 'x'],
    };
    expect(blocks(search('ws_1', { action }))).toEqual([
      use('ws_1', { query: 'q' }),
      result('ws_1', [page('https://a.b/', 'https://a.b/'), page('https://c.d/', 'C')]),
    ]);
  });

  it('without sources has the pages that the text after it cites', () => {
    const found = blocks(
      search('ws_1', { action: { type: 'search', query: 'q' } }),
      cites('One', 'https://a.b/', 'https://a.b/'),
      search('ws_2', { action: { type: 'open_page', url: 'https://c.d/' } }),
      cites('Two', 'https://c.d/'),
    );
    expect(found.map(({ type, text }) => text ?? type)).toEqual([
      'server_tool_use',
      'One',
      'web_search_tool_result',
      'server_tool_use',
      'Two',
      'web_search_tool_result',
    ]);
    expect(found.filter(({ type }) => type !== 'text')).toEqual([
      use('ws_1', { query: 'q' }),
      result('ws_1', [page('https://a.b/', 'Title of https://a.b/')]),
      use('ws_2', { type: 'open_page', url: 'https://c.d/' }),
      result('ws_2', [page('https://c.d/', 'Title of https://c.d/')]),
    ]);
  });

  it('that failed has an error as its result', () => {
    const failed = { type: 'web_search_tool_result_error', error_code: 'unavailable' };
    expect(blocks(search('ws_1', {}, { status: 'incomplete' }))).toEqual([
      use('ws_1', {}),
      result('ws_1', failed),
    ]);
    expect(blocks(search('ws_1', { status: 'failed' }))).toEqual([use('ws_1', {}), result('ws_1', failed)]);
  });
});
