import { assertNever } from '../kit/assert-never.ts';
import type { CommandContext, CommandLine } from './read-command-line.ts';
import { explain } from './explain.ts';
import { COMMANDS } from './table.ts';

/** The usual exit code for wrong usage. */
const USAGE = 2;

/** Runs a command. Resolves to the exit code, and never throws. */
export const runCommandLine = async (line: CommandLine, world: CommandContext): Promise<number> => {
  try {
    switch (line.kind) {
      case 'run': {
        const run = await COMMANDS[line.command].load();
        return await run(line.flags, world, line.words);
      }
      case 'help':
        world.out((await import('./help.ts')).helpText());
        return 0;
      case 'version':
        world.out((await import('./help.ts')).versionText());
        return 0;
      case 'wrong':
        world.say(`${line.message}\n`);
        return USAGE;
      default:
        return assertNever(line);
    }
  } catch (error) {
    world.say(`${explain(error) ?? (error instanceof Error ? error.stack : String(error))}\n`);
    return 1;
  }
};
