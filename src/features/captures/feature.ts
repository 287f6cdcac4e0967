import { feature, type FeatureTables } from '../../compose/feature.ts';
import { deployment } from '../../config/setting-row.ts';
import { filePath } from '../../config/value.ts';
import { counter } from '../../observe/metric-row.ts';

export const CAPTURE_TABLES = {
  settings: {
    PROXY_CAPTURE_DIR: deployment({
      at: 'log.captureDir',
      after: 'PROXY_ENABLE_METRICS',
      type: filePath,
      description:
        'A folder for [captures](logs.md#captures): one file per request with everything that happened, including content.',
    }),
  },
  metrics: {
    capturesLost: {
      ...counter(
        'proxy_stories_lost_total',
        'Requests whose capture file (PROXY_CAPTURE_DIR) is missing or incomplete, by reason: `crowded` (too many at once), `slow` (the disk does not keep up), `disk` (a write failed).',
        ['reason'],
      ),
      after: 'ignoredParams',
    },
  },
  routes: {
    'GET /v1/codex/captures': {
      after: 'POST /v1/codex/requests/:id/replay',
      access: 'key',
      scopes: ['admin'],
      about:
        'Whether requests are captured (`mode`: `all`, `next` or `off`), and where. For this and the next ones see [captures](logs.md#captures).',
    },
    'POST /v1/codex/captures': {
      access: 'key',
      scopes: ['admin'],
      about:
        'Captures the next requests on this server: `requests` (1 to 100) and optionally `key_id`, for an hour at most.',
    },
    'DELETE /v1/codex/captures': {
      access: 'key',
      scopes: ['admin'],
      about: 'Captures no further requests, unless `PROXY_CAPTURE_DIR` is set.',
    },
  },
} as const satisfies FeatureTables;

/** Whole requests in files, for bug reports and replays. */
export const captures = feature('captures', CAPTURE_TABLES, {
  open: async (...args) => (await import('./open.ts')).openCaptures(...args),
});
