import { describeState, type BackendState } from '../compose/banner.ts';
import type { CommandContext } from './command.ts';
import { createProgressLine } from './progress.ts';

interface StartProgress {
  /** The backend is chosen; its app-server starts now. */
  onStarting(state: BackendState): void;
  /** The start has ended or failed. */
  end(): void;
}

/** Says what a start waits for. In whole lines, because the log may be on the same terminal. */
export const showStart = ({
  environment,
  say,
}: Pick<CommandContext, 'environment' | 'say'>): StartProgress => {
  const line = createProgressLine({ stream: { write: say }, environment });
  let progress = line.start('waiting for the database and the folders of codex');
  let isStarting = true;
  return {
    onStarting(state) {
      // A later login starts another app-server.
      if (!isStarting) return;
      progress.end();
      // The banner begins with what to do about it.
      if (state.kind !== 'signed-out')
        say(`starting codex app-server for its backend: ${shortly(state)} …\n`);
      progress = line.start('still waiting for codex app-server to start and to list the models');
    },
    end() {
      isStarting = false;
      progress.end();
    },
  };
};

/** The first URL on standard error must be that of this server: scripts look for it. */
const shortly = (state: BackendState): string =>
  state.kind === 'upstream' ? `the provider ${new URL(state.baseUrl).host}` : describeState(state);
