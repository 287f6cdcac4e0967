/** When an answer in `obsidian-xml` ends before its model ends it, and what of it is left out. */
export interface StopRules {
  /** Where calls stand: in items of their own, or as blocks in the text. */
  readonly callsAre: 'items' | 'blocks';
  /** The answer ends with so many calls; null: with any number. */
  readonly maxCalls: number | null;
  /** The answer ends when so long behind a call no other one begins; null: it does not. */
  readonly graceMs: number | null;
  /** Whether text behind the first call is left out. */
  readonly dropsTail: boolean;
}

/** What a deployment decides about it. */
export interface StopSettings {
  readonly stopAfterTools: 'first' | 'burst' | null;
  readonly stopGraceMs: number;
  readonly suppressTail: boolean;
  /** 0: any number. */
  readonly toolBlockMax: number;
}

/** Null: the answer is what the model says. */
export const stopRules = (
  { stopAfterTools, stopGraceMs, suppressTail, toolBlockMax }: StopSettings,
  callsAre: StopRules['callsAre'],
): StopRules | null => {
  const most = toolBlockMax === 0 ? null : toolBlockMax;
  const rules: StopRules = {
    callsAre,
    maxCalls: stopAfterTools === 'first' ? 1 : most,
    graceMs: stopAfterTools === 'burst' ? stopGraceMs : null,
    dropsTail: suppressTail,
  };
  return rules.maxCalls === null && rules.graceMs === null && !suppressTail ? null : rules;
};
