import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import { openStore } from '../../src/compose/open-store.ts';
import { stateStoreOf } from '../../src/features/state/store/state-store.ts';
import type { Position } from '../../src/features/state/store/port.ts';
import { COMPILE_CACHE } from '../support/compile-cache.ts';
import { runs } from '../support/runs.ts';
import { KEYS, openDatabase, type Database } from '../support/store-harness.ts';

const WRITER = path.join(import.meta.dirname, '../support/store-writer.ts');

/** Runs the writer, and kills it after it has written so many turns. Returns what it said that it had stored. */
const writeAndKill = async (
  { options }: Database,
  run: number,
  turns: number,
): Promise<readonly (readonly [string, Position])[]> => {
  const child = spawn(
    process.execPath,
    [WRITER, options.databaseUrl ?? '', options.file, String(run), KEYS[0]],
    { env: { ...process.env, ...COMPILE_CACHE }, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += String(chunk);
    if (said.split('\n').length > turns) child.kill('SIGKILL');
  });
  await once(child, 'close');
  return said
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [id = '', at = ''] = line.split(' ');
      return [id, JSON.parse(at) as Position];
    });
};

describe.each(['sqlite', 'postgres'] as const)('%s', (kind) => {
  it('has everything whole and once that was stored when a process was killed', async () => {
    const database = await openDatabase(kind);
    const stored: (readonly [string, Position])[] = [];
    const turns = Array.from({ length: runs(2) }, (_, run) => 5 + 35 * run);
    for (const [run, count] of turns.entries()) stored.push(...(await writeAndKill(database, run, count)));
    expect(stored.length).toBeGreaterThanOrEqual(turns.reduce((sum, count) => sum + count));
    const clock = { now: () => Date.now() };
    const store = stateStoreOf(
      await openStore({ ...database.options, keys: [KEYS[0]], timeoutMs: 30_000, clock }),
    );
    for (const [id, at] of stored) {
      const response = await store.responses.find('alice', id);
      const [, , chain, count] = id.split('_').map(Number);
      expect(response).toMatchObject({ id, position: at, body: JSON.stringify({ id, chain, count }) });
      const chainTurns = await store.turns.upTo('alice', at);
      expect(chainTurns.map(({ responseId }) => responseId)).toEqual(
        Array.from({ length: Number(count) + 1 }, (_, index) => id.replace(/\d+$/, String(index))),
      );
    }
    // What was written but not confirmed is whole, too: a turn and its response come together.
    expect(
      await database.sql(
        'select turns.key from turns left join responses on responses.id = turns.response_id where responses.id is null',
      ),
    ).toEqual([]);
    expect(
      await database.sql(
        'select segments.id from segments where tip + 1 <> (select count(*) from turns where segment_id = segments.id)',
      ),
    ).toEqual([]);
    if (kind === 'sqlite')
      expect(await database.sql('pragma integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    await store.close();
    await database.close();
  });
});
