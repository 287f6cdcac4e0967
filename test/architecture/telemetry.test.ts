import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

import { expect, it } from 'vitest';

import { COMPILE_CACHE } from '../support/compile-cache.ts';

const ROOT = path.join(import.meta.dirname, '../..');

/**
 * Counts the modules of OpenTelemetry that the whole server loads, without an endpoint and with one. Its interfaces are
 * loaded by the client for Prometheus.
 */
const PROBE = `
  import { registerHooks } from 'node:module';
  let loaded = 0;
  registerHooks({
    load(url, context, next) {
      if (/\\/@opentelemetry\\/(?!api\\/)/.test(url)) loaded += 1;
      return next(url, context);
    },
  });
  await import('./src/compose/app.ts');
  const { openTelemetryFeature } = await import('./src/features/telemetry/open.ts');
  const { systemAmbient: ambient } = await import('./src/kit/ambient.ts');
  const logger = { info() {}, warn() {} };
  const off = [await openTelemetryFeature({ environment: { OTEL_SERVICE_NAME: 'x' }, logger, ambient }), loaded];
  const on = await openTelemetryFeature({ environment: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }, logger, ambient });
  console.log(JSON.stringify({ off, on: ['observer' in on, loaded > 0] }));
  process.exit(0);
`;

it('no SDK or exporter of OpenTelemetry is loaded without an endpoint', async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--no-warnings', '--input-type=module', '--eval', PROBE],
    { cwd: ROOT, env: { ...process.env, ...COMPILE_CACHE } },
  );
  expect(JSON.parse(stdout)).toEqual({ off: [{}, 0], on: [true, true] });
});
