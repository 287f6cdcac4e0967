import type { DialectSettings } from '../../src/openai/dialects/dialect.ts';

/** What a deployment that sets nothing decides, and what a test wants different. */
export const dialectSettings = (different: Partial<DialectSettings> = {}): DialectSettings => ({
  mode: 'openai-json',
  stopAfterTools: null,
  stopGraceMs: 300,
  suppressTail: false,
  toolBlockMax: 0,
  onNativeOnly() {},
  ...different,
});
