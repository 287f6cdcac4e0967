import type { AskedTurn } from '../../canonical/turn-request.ts';

/** Kinds of clients that are told apart in logs and metrics, and some of them in how they are answered. */
export type ClientFamily = 'codex' | 'obsidian-copilot' | 'other';

/** Who asks, as far as that can be seen. */
export interface ClientSeen {
  readonly family: ClientFamily;
  /** By what it was recognised. */
  readonly tier: 'header' | 'body' | 'none';
  /** The signs that were found, for the log. */
  readonly reasons: readonly string[];
}

const NOBODY: ClientSeen = { family: 'other', tier: 'none', reasons: [] };

/** Headers say it best; what stands in a conversation is looked at where they say nothing. */
export const recogniseClient = (headers: Headers, _request: AskedTurn): ClientSeen => {
  const originator = headers.get('originator');
  if (originator?.startsWith('codex_') === true) {
    return { family: 'codex', tier: 'header', reasons: ['originator'] };
  }
  // An editor that runs codex gives its own name as the originator.
  if (headers.has('x-codex-turn-metadata')) {
    return { family: 'codex', tier: 'header', reasons: ['x-codex-turn-metadata'] };
  }
  return NOBODY;
};
