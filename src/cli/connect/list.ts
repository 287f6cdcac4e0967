import type { CommandContext } from '../read-command-line.ts';
import type { Client, ServerFacts, Variables } from '../../connect/client.ts';
import { CLIENTS } from '../../connect/clients.ts';
import { FORMATS } from '../../connect/formats.ts';
import { unmerge } from './merge.ts';
import { digestOf, Records, type FileRecord } from './record.ts';
import { readTarget } from './target.ts';

/** One line for each client: its name, and whether this command has connected it. */
export const listClients = async (world: CommandContext, stateDir: string, url: string): Promise<string> => {
  const rows: string[] = [];
  for (const [name, client] of Object.entries<Client>(CLIENTS)) {
    const server = { ...NO_SERVER, url };
    const state =
      client.files(server).length === 0
        ? shellState(client.run(server)?.variables ?? {}, world.environment)
        : await stateOf(new Records(stateDir, name), world);
    rows.push(`${name.padEnd(12)} ${state.padEnd(24)} ${client.title}\n`);
  }
  return rows.join('');
};

/** For the addresses in the variables of a client. */
const NO_SERVER: Omit<ServerFacts, 'url'> = {
  key: '',
  keyFile: null,
  model: { id: '', isChosen: false, title: '', contextWindow: 0, maxOutputTokens: 0 },
};

/** Clients without a file are connected if the shell has their variables. */
const shellState = (variables: Variables, environment: CommandContext['environment']): string =>
  Object.entries(variables).every(([name, value]) => !name.endsWith('_URL') || environment[name] === value)
    ? 'connected in this shell'
    : 'not connected';

const stateOf = async (records: Records, world: CommandContext): Promise<string> => {
  try {
    const states = await Promise.all((await records.read()).map(fileState));
    if (states.length === 0) return 'not connected';
    if (states.every((state) => state === 'there')) return 'connected';
    return states.every((state) => state === 'gone') ? 'settings removed since' : 'connected, changed since';
  } catch (error) {
    world.say(`${error instanceof Error ? error.message : String(error)}\n`);
    return 'unknown';
  }
};

/** Whether all, some or none of our settings are in the file. */
const fileState = async ({
  real,
  digest,
  format,
  changes,
}: FileRecord): Promise<'there' | 'changed' | 'gone'> => {
  const { text } = await readTarget(real);
  if (text === null) return 'gone';
  if (digestOf(text) === digest) return 'there';
  const { text: without, kept } = unmerge(FORMATS[format], text, changes);
  if (kept.length > 0) return 'changed';
  return without === text ? 'gone' : 'there';
};
