import { readlink, rm } from 'node:fs/promises';

import { readIfPresent } from '../../codex/home/files.ts';
import { PlainError } from '../explain.ts';
import { MARKER } from './definition.ts';
import { isAgreed, runSteps, type ServiceTask } from './task.ts';

/** Answers may take as long as the settings of the service allow. */
const STOP_WITHIN_MS = 120_000;

/** Stops the service and removes what `service install` wrote; nothing else. */
export const uninstallService = async (task: ServiceTask): Promise<number> => {
  const { world, manager } = task;
  const present = await readIfPresent(manager.file);
  if (present === null) {
    world.say(`There is no service: ${manager.file} does not exist.\n`);
    return 0;
  }
  if (!present.includes(MARKER))
    throw new PlainError(`${manager.file} was not written by this command, and stays.`);
  if (!(await isAgreed(task, `Stop the service and remove ${manager.file}?`))) return 1;
  const progress = world.progress('stopping the service');
  try {
    await runSteps(task, manager.stop, STOP_WITHIN_MS);
    await rm(manager.file, { force: true });
    // A manager that runs has removed them already.
    for (const link of manager.links) {
      const target = await readlink(link).catch(() => null);
      if (target !== null) await rm(link, { force: true });
    }
    await runSteps(task, manager.forget, STOP_WITHIN_MS);
  } finally {
    progress.end();
  }
  const { running } = await manager.state(task.run);
  if (running === true) {
    world.say(`${manager.file} is removed, but the service still runs: stop its process.\n`);
    return 1;
  }
  world.say(`The service is removed. Settings, keys and stored responses stay in the state directory.\n`);
  return 0;
};
