import { stat } from 'node:fs/promises';

import { describeStore, storeFile } from '../../compose/describe-store.ts';
import { openConfiguredStore } from '../../compose/state.ts';
import type { Config } from '../../config/schema.ts';
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
      return ok(says, { kind: store.kind });
    } catch (error) {
      return problem(
        `${says}: ${error instanceof Error ? error.message : String(error)}`,
        'check PROXY_DATABASE_URL, PROXY_STORE_KEY or the file, or set PROXY_STORE=off',
      );
    }
  },
});

const isThere = async (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );
