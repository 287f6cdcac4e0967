import type { SettingRow } from './setting-row.ts';
import { wholeNumber, yesOrNo } from './value.ts';

/** What becomes of tools and their calls. */
export const TOOL_SETTINGS = {
  PROXY_ENABLE_PARALLEL_TOOL_CALLS: {
    slice: 'tools',
    field: 'parallelCalls',
    type: yesOrNo,
    default: 'true',
    description:
      'Whether an answer may hold several calls. `false`: at most one, whatever a request says, as with `parallel_tool_calls: false`.',
  },
  PROXY_TOOL_REPAIR_ATTEMPTS: {
    slice: 'tools',
    field: 'repairAttempts',
    type: wholeNumber(0, 10),
    default: '1',
    unit: 'attempts',
    description:
      "How often the model tries again after it has called a `strict` function with arguments that break the function's schema. The client sees the last attempt. `0`: arguments are not checked.",
  },
  PROXY_TOOL_REPAIR_STREAMS: {
    slice: 'tools',
    field: 'repairStreams',
    type: yesOrNo,
    default: 'false',
    description:
      'Whether arguments are checked in streams too. Calls of `strict` functions are then held back until they are whole.',
  },
} as const satisfies Record<string, SettingRow>;
