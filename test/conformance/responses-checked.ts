import OpenAI from 'openai';
import { afterAll, afterEach, expect } from 'vitest';

import {
  validateOpenai,
  validateOpenResponse,
  validateOpenResponseEvent,
  validateResponse,
  validateStreamEvent,
} from '../support/schema.ts';
import { isJsonObject } from '../../src/kit/json/json.ts';
import { objectsIn } from './responses-sent.ts';
import { eventsOf, readSse } from '../support/sse.ts';
import { openProxy } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { collect } from '../support/turn-events.ts';
import { watchedFetch, type Seen } from './watched-fetch.ts';

export interface CheckedClient {
  readonly openai: OpenAI;
  /** The JSON body or the events of the newest answer. */
  lastBody(): unknown;
  lastEvents(): Promise<readonly Record<string, unknown>[]>;
  /** Violations of the published schemas since the last call. */
  complaints(): Promise<readonly string[]>;
  /** Fails if there are any. */
  check(): Promise<void>;
  /** Closes the connections: an idle one would keep a server from closing for a minute. */
  close(): Promise<void>;
}

/**
 * OpenAI's SDK with a fetch that copies every answer, so that each body and event can be validated against
 * OpenAI's schema and the Open Responses schema.
 */
export const checkedClient = (proxy: TestProxy, apiKey = proxy.key): CheckedClient => {
  const { seen, close, fetch: watched } = watchedFetch();
  let checked = 0;
  const openai = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey, maxRetries: 0, fetch: watched });
  const complaints = async (): Promise<readonly string[]> => {
    const fresh = seen.slice(checked);
    checked = seen.length;
    return (await Promise.all(fresh.map(complaintsAbout))).flat().filter(isOurs);
  };
  const last = (): Seen => {
    const one = seen.at(-1);
    if (one === undefined) throw new Error('nothing was asked yet');
    return one;
  };
  return {
    openai,
    close,
    lastBody: () => JSON.parse(last().text) as unknown,
    lastEvents: () => events(last()),
    complaints,
    async check() {
      expect(await complaints()).toEqual([]);
    },
  };
};

/** A proxy and a client for all tests of a file; answers are validated after each test. */
export const openChecked = async (
  ...options: Parameters<typeof openProxy>
): Promise<{ readonly proxy: TestProxy; readonly client: CheckedClient }> => {
  const proxy = await openProxy(...options);
  const client = checkedClient(proxy);
  afterAll(() => client.close());
  afterEach(() => client.check());
  return { proxy, client };
};

const events = async (one: Seen): Promise<readonly Record<string, unknown>[]> =>
  eventsOf(await collect(readSse(one.text)));

const complaintsAbout = async (one: Seen): Promise<readonly string[]> => {
  if (one.isStream) {
    const all = await events(one);
    return [
      ...all.flatMap((event) => said(`openai ${String(event['type'])}`, validateStreamEvent(event))),
      ...(all.some(({ response }) => isBeyondOpenResponses(response))
        ? []
        : all.flatMap((event) =>
            said(`open-responses ${String(event['type'])}`, validateOpenResponseEvent(event)),
          )),
    ];
  }
  const body = JSON.parse(one.text) as unknown;
  if (one.status !== 200) return said('openai error', validateOpenai('ErrorResponse', body));
  if (one.path === '/v1/models') return said('models', validateOpenai('ListModelsResponse', body));
  if (one.path.startsWith('/v1/models/')) return said('model', validateOpenai('Model', body));
  return [
    ...said('openai response', validateResponse(body)),
    ...(isBeyondOpenResponses(body) ? [] : said('open-responses response', validateOpenResponse(body))),
  ];
};

/** Whether a response has a tool or an item that Open Responses does not define. */
const isBeyondOpenResponses = (response: unknown): boolean => {
  if (!isJsonObject(response)) return false;
  const types = (name: string): readonly string[] =>
    objectsIn(response[name]).map(({ type }) => (typeof type === 'string' ? type : ''));
  return (
    types('tools').some((type) => type !== 'function') ||
    types('output').some((type) => !['message', 'function_call', 'reasoning', 'compaction'].includes(type))
  );
};

/**
 * Known contradictions between the two schemas, or between a schema and its own examples. Any other violation is a
 * bug.
 */
const CONTRADICTIONS: readonly { readonly complaint: RegExp; readonly why: string }[] = [
  {
    complaint: /^open-responses .*\/text\/format must have required property 'description'$/,
    why: "Open Responses requires the field and allows null; in OpenAI's document it is a string, or absent",
  },
  {
    complaint: /^open-responses .*\/text\/format\/schema must (be null|match a schema in anyOf)$/,
    why: 'the document of Open Responses allows no schema but null in a format that is made of one',
  },
  {
    complaint: /^open-responses response\.reasoning_text\.(delta|done): \/type must be equal to one of/,
    why: "Open Responses calls them response.reasoning.delta and .done; OpenAI's name is the one that its SDK reads",
  },
  {
    complaint:
      /^open-responses .*\/tools\/\d+(\/type)? must (have required property|be equal to one of|match exactly one)/,
    why: 'Open Responses knows no tools but functions',
  },
  {
    complaint: /^open-responses .*\/(output\/\d+|item)\/type must be equal to one of the allowed values/,
    why: 'Open Responses knows no calls but those of functions',
  },
  {
    complaint: /^open-responses response\.mcp_[\w.]+: \/type must be equal to one of/,
    why: 'Open Responses knows no events of other calls',
  },
];

const isOurs = (complaint: string): boolean =>
  !CONTRADICTIONS.some((known) => known.complaint.test(complaint));

const said = (what: string, complaints: readonly string[]): string[] =>
  complaints.map((complaint) => `${what}: ${complaint}`);
