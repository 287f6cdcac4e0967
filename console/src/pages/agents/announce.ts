import { APPROVAL, textOf } from './agent-answers.ts';
import { shortened, shownCommand } from './readable.ts';
import type { Entry, Watched } from './watched.ts';

const MAX_CHARS = 300;

/** What a screen reader says about the newest things that happened; text and output that arrive piece by piece are left out. */
export const announcementOf = (watched: Watched): string => {
  const { session, turns } = watched;
  if (session.status === 'requires_action') {
    const approvals = session.required_actions.filter(({ name }) => name === APPROVAL).length;
    return approvals > 0 ? 'codex waits for your approval.' : 'codex waits for the result of a call.';
  }
  const last = turns.at(-1);
  if (last === undefined) return '';
  const done = last.entries.findLast(({ isDone, isHistory }) => isDone && !isHistory);
  const said = done === undefined ? '' : doneText(done);
  const state =
    last.turn === null ? '' : `The turn is ${last.turn.status.replace('in_progress', 'running')}.`;
  return `${said} ${state}`.trim();
};

const doneText = ({ item }: Entry): string => {
  if (item.type === 'message' && item['role'] === 'assistant')
    return `codex: ${shortened(textOf(item), MAX_CHARS)}`;
  if (item.type === 'command_execution')
    return `${item.status === 'completed' ? 'Done' : 'Failed'}: ${shortened(shownCommand(String(item['command'])), MAX_CHARS)}.`;
  return item['name'] === 'apply_patch' ? 'Files were changed.' : '';
};
