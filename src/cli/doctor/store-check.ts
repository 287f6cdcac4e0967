import { stat } from 'node:fs/promises';

import { STORE_SCHEMA, describeStore, storeFile, openConfiguredStore } from '../../compose/open-store.ts';
import type { Config } from '../../config/schema.ts';
import { systemAmbient } from '../../kit/ambient.ts';
import { openAdmin } from '../../store/admin/open-admin.ts';
import { ok, problem, warning, type Check } from './finding.ts';

/** Whether the store can be opened and read. It is not created. */
export const storeCheck = (config: Config): Check => ({
  name: 'store',
  limitMs: 20_000,
  async run() {
    const says = describeStore(config.state);
    if (config.state.store === 'off') {
      return warning(
        says,
        'clients that use previous_response_id, conversations or background need PROXY_STORE=on',
      );
    }
    if (config.state.databaseUrl === null && !(await isThere(storeFile(config.state)))) {
      return ok(`${says}; made at the first start`);
    }
    try {
      const store = await openConfiguredStore(config);
      try {
        await store.responses.at('', '');
      } finally {
        await store.close();
      }
      const lost = await rowsWithoutKey(config);
      return lost === 0
        ? ok(says, { kind: store.kind })
        : warning(
            `${says}; ${lost} ${lost === 1 ? 'row' : 'rows'} cannot be read: ${lost === 1 ? 'its key is' : 'their keys are'} not in PROXY_STORE_KEY`,
            'set PROXY_STORE_KEY to the keys of before, the current one first; `db status` counts the rows of each key',
          );
    } catch (error) {
      return problem(
        `${says}: ${error instanceof Error ? error.message : String(error)}`,
        'check PROXY_DATABASE_URL, PROXY_STORE_KEY or the file, or set PROXY_STORE=off',
      );
    }
  },
});

const rowsWithoutKey = async ({ state }: Config): Promise<number> => {
  const { databaseUrl, keys } = state;
  const admin = await openAdmin({
    databaseUrl,
    file: storeFile(state),
    keys,
    clock: systemAmbient.clock,
    schema: STORE_SCHEMA,
  });
  if (admin === null) return 0;
  try {
    const { content } = await admin.status();
    const unknown = (content?.encryption ?? []).filter(({ form }) => form === 'unknown key');
    return unknown.reduce((sum, { rows }) => sum + rows, 0);
  } finally {
    await admin.close();
  }
};

const isThere = async (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );
