import type { CompiledQuery } from 'kysely';
import type { ClientBase } from 'pg';
import { expect, it, vi } from 'vitest';

const compiled = (sql: string): CompiledQuery => ({ sql, parameters: [] }) as unknown as CompiledQuery;

/** The name under which a process that has just started prepares each statement. */
const namesOf = async (texts: readonly string[]): Promise<Readonly<Record<string, string>>> => {
  vi.resetModules();
  const { sendTogether } = await import('./connections.ts');
  const names: Record<string, string> = {};
  const client = {
    connection: { stream: { cork() {}, uncork() {} } },
    async query(asked: string | { readonly name: string; readonly text: string }) {
      if (typeof asked !== 'string') names[asked.text] = asked.name;
      return { rows: [], rowCount: 0 };
    },
  };
  await sendTogether(client as unknown as ClientBase, texts.map(compiled));
  return names;
};

it('two processes never prepare different statements under one name', async () => {
  const [one, other] = [await namesOf(['select 1', 'select 2']), await namesOf(['select 2', 'select 1'])];
  expect(one).toEqual(other);
  expect(one['select 1']).not.toBe(one['select 2']);
});
