import { isToolSearch, typeIs, type ToolRules } from '../../../codex/capabilities/tool-kinds.ts';

/** The app-server declares the tools: it knows functions, and calls only what is declared to it. */
export const RPC_TOOLS: ToolRules = {
  whyRefused: ({ raw }) => `${typeIs(raw)}, which needs the relay of this server (PROXY_WIRE)`,
  // All tools are declared from the start.
  isLost: isToolSearch,
  keepsField: () => false,
  // Refused anyway.
  keepsModel: true,
  isMergedIntoTools: () => true,
  hasHostedMcp: false,
};
