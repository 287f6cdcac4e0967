import type { CommandContext, Flags } from '../command.ts';
import { commandLine, thisInvocation } from '../invocation.ts';
import type { ManagerStep, ServiceManager, ServiceUser } from './manager.ts';
import type { FoundProgram } from './program.ts';
import type { RunTool } from './run-tool.ts';

/** One use of the command. */
export interface ServiceTask {
  readonly flags: Flags;
  readonly world: CommandContext;
  readonly manager: ServiceManager;
  readonly user: Omit<ServiceUser, 'environment'>;
  readonly program: FoundProgram;
  readonly run: RunTool;
}

/** The command line of another action. */
export const serviceCommand = ({ world }: ServiceTask, action: string): string =>
  commandLine(thisInvocation(world.environment), 'service', action);

/** Asks before something changes. */
export const isAgreed = async ({ flags, world }: ServiceTask, question: string): Promise<boolean> => {
  if (flags.has('yes')) return true;
  const answer = await world.confirm(question);
  if (answer === true) return true;
  world.say(
    answer === null ? 'Nothing was changed: without a terminal, add --yes.\n' : 'Nothing was changed.\n',
  );
  return false;
};

const PAUSE_MS = 1_000;

/** Runs commands of the manager one after the other. Resolves to what the first failure says; null: there is none. */
export const runSteps = async (
  { run }: ServiceTask,
  steps: readonly ManagerStep[],
  limitMs: number,
): Promise<string | null> => {
  for (const { words, mayFail, attempts = 1 } of steps) {
    for (let attempt = 1; ; attempt += 1) {
      const { code, problem } = await run(words, limitMs);
      if (code === 0 || mayFail === true) break;
      if (attempt >= attempts || code === null) return `${words.join(' ')}: ${problem}`;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
  return null;
};
