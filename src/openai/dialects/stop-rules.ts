/** When an answer in `obsidian-xml` ends early, and what is dropped from it. */
export interface StopRules {
  /** Whether calls are items or blocks in the text. */
  readonly callsAre: 'items' | 'blocks';
  /** Ends the answer after this many calls; null: no limit. */
  readonly maxCalls: number | null;
  /** Ends the answer if no other call starts within this time after a call; null: never. */
  readonly graceMs: number | null;
  /** Whether to drop text after the first call. */
  readonly dropsTail: boolean;
}

/** The configuration of early ends. */
export interface StopSettings {
  readonly stopAfterTools: 'first' | 'burst' | null;
  readonly stopGraceMs: number;
  readonly suppressTail: boolean;
  /** 0: no limit. */
  readonly toolBlockMax: number;
}

/** The rules for an answer; null: it is not changed. */
export const stopRules = (
  { stopAfterTools, stopGraceMs, suppressTail, toolBlockMax }: StopSettings,
  callsAre: StopRules['callsAre'],
): StopRules | null => {
  const max = toolBlockMax === 0 ? null : toolBlockMax;
  const rules: StopRules = {
    callsAre,
    maxCalls: stopAfterTools === 'first' ? 1 : max,
    graceMs: stopAfterTools === 'burst' ? stopGraceMs : null,
    dropsTail: suppressTail,
  };
  return rules.maxCalls === null && rules.graceMs === null && !suppressTail ? null : rules;
};
