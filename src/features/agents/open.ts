import type { Core, OpenFeature, Own } from '../../compose/feature.ts';
import type { AGENT_TABLES } from './feature.ts';

/** Without a workspace in the configuration nothing of it runs. */
export const openAgents = async (
  _core: Core,
  _own: Own<typeof AGENT_TABLES>,
): Promise<OpenFeature<typeof AGENT_TABLES>> => ({});
