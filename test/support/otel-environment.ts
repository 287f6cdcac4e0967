import { afterAll } from 'vitest';

/** The SDK of OpenTelemetry reads the environment of the process: set while the tests of a file run. */
export const otelEnvironment = (values: Readonly<Record<string, string>>): void => {
  Object.assign(process.env, values);
  afterAll(() => {
    for (const name of Object.keys(values)) delete process.env[name];
  });
};
