import type { DialectSettings } from '../../src/openai/dialects/dialect.ts';

/** Default settings with a test's changes. */
export const dialectSettings = (different: Partial<DialectSettings> = {}): DialectSettings => ({
  mode: 'openai-json',
  stopAfterTools: null,
  stopGraceMs: 300,
  suppressTail: false,
  toolBlockMax: 0,
  onNativeOnly() {},
  ...different,
});
