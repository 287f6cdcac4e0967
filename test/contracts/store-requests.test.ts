import { expect, it } from 'vitest';

import { requestStore, type RequestRow, type RequestSearch } from '../../src/features/request-log/store.ts';
import { partOf } from '../../src/store/part.ts';
import { DAY, describeStores, KEYS, type StoreHarness } from '../support/store-harness.ts';

const EVERYTHING: RequestSearch = {
  result: null,
  status: null,
  errorCode: null,
  model: null,
  keyId: null,
  client: null,
  text: null,
  from: null,
  before: null,
  limit: 100,
};

const rowOf = ({ clock }: StoreHarness, id: string, different: Partial<RequestRow> = {}): RequestRow => ({
  id,
  requestId: `req_${id}`,
  responseId: null,
  instance: 'inst_1',
  keyId: 'key_1',
  client: 'codex',
  model: 'm',
  status: 200,
  errorCode: null,
  expiresAt: clock.time + DAY,
  body: JSON.stringify({ of: id }),
  spans: JSON.stringify([id, '\0']),
  ...different,
});

const listed = ({ spans: _spans, expiresAt: _expiresAt, ...row }: RequestRow) => row;

describeStores('the request log', (open) => {
  it('finds a request, which is written once', async () => {
    const harness = open();
    const requests = partOf(harness.store, requestStore);
    const row = rowOf(harness, 'find-1', { responseId: 'resp_1', keyId: null, client: null, model: null });
    await requests.add([row]);
    await requests.add([{ ...row, status: 500 }, rowOf(harness, 'find-2')]);
    const { expiresAt: _, ...found } = row;
    expect(await requests.find('find-1')).toEqual(found);
    expect(await requests.find('find')).toBeNull();
  });

  it('lists the newest first, from any of them on', async () => {
    const harness = open();
    const requests = partOf(harness.store, requestStore);
    const rows = Array.from({ length: 150 }, (_, nth) =>
      rowOf(harness, `page-${String(nth).padStart(3, '0')}`),
    );
    await requests.add(rows);
    const newest = rows.toReversed().map(listed);
    const within = { ...EVERYTHING, text: 'page-' };
    expect(await requests.list({ ...within, limit: 3 })).toEqual(newest.slice(0, 3));
    expect(await requests.list({ ...within, before: 'page-147', limit: 2 })).toEqual(newest.slice(3, 5));
    expect(await requests.list({ ...within, from: 'page-148' })).toEqual(newest.slice(0, 2));
  });

  it('searches by each of the columns', async () => {
    const harness = open();
    const requests = partOf(harness.store, requestStore);
    const rows = [
      rowOf(harness, 's1', { keyId: 'key_s', model: 'a', client: 'pi' }),
      rowOf(harness, 's2', { keyId: 'key_s', model: 'b', status: 429, errorCode: 'key_limit_exceeded' }),
      rowOf(harness, 's3', {
        keyId: 'key_s',
        model: 'a',
        errorCode: 'upstream_error',
        responseId: 'resp_s3',
      }),
      rowOf(harness, 's4', { keyId: 'key_s', requestId: '100%_mine' }),
    ];
    await requests.add(rows);
    const search = async (different: Partial<RequestSearch>) =>
      (await requests.list({ ...EVERYTHING, keyId: 'key_s', ...different })).map(({ id }) => id);
    expect([
      await search({}),
      await search({ result: 'ok' }),
      await search({ result: 'failed' }),
      await search({ status: { from: 400, below: 500 } }),
      await search({ errorCode: 'upstream_error' }),
      await search({ model: 'a' }),
      await search({ client: 'pi' }),
      await search({ text: 'resp_s' }),
      await search({ text: '100%' }),
      await search({ text: '00%' }),
      await search({ keyId: 'key_other' }),
    ]).toEqual([
      ['s4', 's3', 's2', 's1'],
      ['s4', 's1'],
      ['s3', 's2'],
      ['s2'],
      ['s3'],
      ['s3', 's1'],
      ['s1'],
      ['s3'],
      ['s4'],
      [],
      [],
    ]);
  });

  it('is limited by age', async () => {
    const harness = open();
    const { store, clock } = harness;
    await partOf(store, requestStore).add([
      rowOf(harness, 'age-1', { expiresAt: clock.time + 10 }),
      rowOf(harness, 'age-2', { expiresAt: clock.time + DAY }),
    ]);
    clock.time += 10;
    expect(await partOf(store, requestStore).find('age-1')).toBeNull();
    const left = await partOf(store, requestStore).list({ ...EVERYTHING, text: 'age-' });
    expect(left.map(({ id }) => id)).toEqual(['age-2']);
    while ((await store.sweep(1)) > 0);
    expect(await harness.sql("select id from requests where id like 'age-%'")).toEqual([{ id: 'age-2' }]);
  });
});

describeStores('the length of the request log', (open) => {
  it('is limited: the oldest are deleted in steps', async () => {
    const harness = open();
    const requests = partOf(harness.store, requestStore);
    await requests.add(['1', '2', '3', '4', '5'].map((id) => rowOf(harness, id)));
    expect([
      await requests.trim(5, 10),
      await requests.trim(2, 2),
      await requests.trim(2, 2),
      await requests.trim(2, 2),
    ]).toEqual([0, 2, 1, 0]);
    expect((await requests.list(EVERYTHING)).map(({ id }) => id)).toEqual(['5', '4']);
  });
});

describeStores(
  'an encrypted request log',
  (open) => {
    it('hides what is not searched by', async () => {
      const harness = open();
      const { store, sql } = harness;
      await partOf(store, requestStore).add([rowOf(harness, 'sealed')]);
      const [row] = await sql("select body, spans from requests where id = 'sealed'");
      expect([String(row?.['body'])[0], String(row?.['spans'])[0]]).toEqual(['e', 'e']);
      expect((await partOf(store, requestStore).find('sealed'))?.spans).toBe(
        JSON.stringify(['sealed', '\0']),
      );
    });
  },
  { keys: [KEYS[0]] },
);
