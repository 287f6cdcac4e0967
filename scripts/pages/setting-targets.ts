import type { Setting } from '../../src/canonical/request/path.ts';
import { SETTING_RULES } from '../../src/codex/capabilities/settings.ts';

/** Where a setting of a turn request is sent. */
export interface SettingTargets {
  /** Parameters of app-server methods; empty if JSON-RPC has none. */
  readonly rpc: readonly string[];
  /** The field of the model request; null if it has none. */
  readonly wire: string | null;
}

/** Settings with an app-server parameter. All others exist only in the model request. */
const RPC: Readonly<Partial<Record<Setting, readonly string[]>>> = {
  model: ['thread/start.model'],
  instructions: ['thread/inject_items.items', 'thread/start.developerInstructions'],
  items: ['thread/inject_items.items', 'thread/start.developerInstructions'],
  tools: ['thread/start.dynamicTools'],
  toolChoice: ['thread/start.dynamicTools'],
  'reasoning.effort': ['turn/start.effort'],
  'reasoning.summary': ['turn/start.summary'],
  format: ['turn/start.outputSchema'],
  verbosity: ['thread/start.config'],
  serviceTier: ['thread/start.serviceTier'],
};

/**
 * Model request fields of settings without an edit in `SETTING_RULES`: the app-server, or the relay as a whole,
 * writes them.
 */
const WIRE: Readonly<Partial<Record<Setting, string>>> = {
  model: 'model',
  instructions: 'instructions',
  items: 'input',
  tools: 'tools',
  'reasoning.effort': 'reasoning.effort',
  'reasoning.summary': 'reasoning.summary',
  format: 'text.format',
  verbosity: 'text.verbosity',
  serviceTier: 'service_tier',
};

export const settingTargets = (setting: Setting): SettingTargets => {
  const rule = SETTING_RULES[setting];
  return { rpc: RPC[setting] ?? [], wire: 'field' in rule ? rule.field : (WIRE[setting] ?? null) };
};
