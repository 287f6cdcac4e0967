import { afterEach, describe, expect, it } from 'vitest';

import {
  auditPage,
  openConsoleBrowser,
  settled,
  tabStops,
  type ConsolePage,
} from '../support/console-browser.ts';
import { startAgentsServer, type AgentsServer } from './support/agents-server.ts';
import type { ScriptedTurn } from './support/scripted-agents.ts';

const browser = await openConsoleBrowser();
const servers: AgentsServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

const PHONE = { viewport: { width: 390, height: 844 } };

const open = async (server: AgentsServer, path = '/agents', options = {}): Promise<ConsolePage> => {
  const opened = await browser.open(`${server.url}/console${path}`, options);
  await settled(opened.page);
  return opened;
};

const startServer = async (): Promise<AgentsServer> => {
  const server = await startAgentsServer();
  servers.push(server);
  return server;
};

const FADED_IN = `Promise.allSettled(document.getAnimations()
  .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity)
  .map(({ finished }) => finished))`;

/** What fades in has too little contrast until it is there. */
const audit = async (opened: ConsolePage): Promise<readonly string[]> => {
  await opened.page.evaluate(FADED_IN);
  return auditPage(opened);
};

/** Something that a script waits for until the test lets it go on. */
const createGate = () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { promise, open: () => resolve() };
};

/** Starts a session on the server, and opens its page. */
const watch = async (
  server: AgentsServer,
  script: (turn: ScriptedTurn, text: string) => Promise<void>,
  options = {},
): Promise<ConsolePage & { readonly id: string }> => {
  server.agents.script = script;
  const { id } = server.agents.create({
    environment: { type: 'self_hosted', workspace_directory: 'demo' },
    agent: { model: 'gpt-5.5', tools: [{ type: 'function', name: 'codex_approval' }] },
  });
  const opened = await open(server, `/agents/${id}`, options);
  await opened.page.getByText('Live', { exact: true }).waitFor();
  return { ...opened, id };
};

const send = async ({ page }: ConsolePage, text: string, button = 'Send'): Promise<void> => {
  await page.getByRole('textbox', { name: /^Message/ }).fill(text);
  await page.getByRole('button', { name: button, exact: true }).click();
};

describe.skipIf(browser.isMissing)('the page Agents', browser.needs, () => {
  it('shows the workspaces, starts a session, and lists it', async () => {
    const server = await startServer();
    const gate = createGate();
    server.agents.script = async (turn) => {
      turn.think('**Reading the tests**\n\nFirst the parser.');
      await gate.promise;
      await turn.say('All **tests** pass.', { pieces: ['All **te', 'sts** pass.'] });
    };
    const opened = await open(server);
    const { page } = opened;
    const workspaces = page.getByRole('region', { name: 'Workspaces' });
    await expect
      .poll(() => workspaces.innerText())
      .toMatch(/demo\s+Free\s+\/srv\/demo\s+Read and write · No network/);
    expect(await workspaces.innerText()).toMatch(/docs[^]+Read only · registry\.npmjs\.org/);
    await page.getByText('There are no sessions yet.').waitFor();
    expect(await audit(opened)).toEqual([]);
    await page.getByLabel('Message').fill('Fix the  tests\nplease');
    await page.getByLabel('Effort').selectOption('high');
    await page.getByText('Instructions').click();
    await page.getByLabel('Instructions').fill('Be brief.');
    expect(await page.getByLabel('Ask before commands').isChecked()).toBe(true);
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('heading', { level: 1, name: 'Fix the tests please' }).waitFor();
    await page.getByText('Reading the tests').waitFor();
    expect(await page.title()).toBe('● Fix the tests please · codex-app-server-proxy');
    gate.open();
    await page.getByText('All tests pass.').waitFor();
    await page.getByText('14,289 tokens in · 11K cached · 688 out · 226 for reasoning').waitFor();
    expect(server.agents.last.object()).toMatchObject({
      environment: { type: 'self_hosted', workspace_directory: '/srv/demo' },
      agent: {
        model: 'gpt-5.5',
        instructions: 'Be brief.',
        reasoning: { effort: 'high', summary: 'auto' },
        tools: [{ type: 'function', name: 'codex_approval' }],
      },
    });
    expect(await audit(opened)).toEqual([]);
    await page.getByRole('link', { name: 'All sessions' }).click();
    const row = page.getByRole('listitem').filter({ hasText: 'Fix the tests please' });
    await expect.poll(() => row.innerText()).toMatch(/Idle[^]+demo[^]+gpt-5\.5/);
  });

  it('loads more sessions, and shows those that others start', async () => {
    const server = await startServer();
    for (let number = 1; number <= 25; number += 1)
      server.agents.create({
        environment: { type: 'none' },
        agent: { model: 'gpt-5.5' },
        input: `Task ${number}.`,
      });
    const { page } = await open(server);
    await page.getByText('Task 25.').waitFor();
    expect(await page.getByText('Task 5.', { exact: true }).count()).toBe(0);
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByText('Task 1.', { exact: true }).waitFor();
    server.agents.create({
      environment: { type: 'none' },
      agent: { model: 'gpt-5.5' },
      input: 'Another one.',
    });
    await page.getByText('Another one.').waitFor();
    expect(await page.locator('.session-row').count()).toBe(26);
  });

  it('says how to turn the API on', async () => {
    const server = await startServer();
    server.turnOff();
    const opened = await open(server);
    await opened.page.getByRole('heading', { name: 'Agents are off' }).waitFor();
    expect(await opened.page.getByRole('region', { name: 'the example' }).innerText()).toContain(
      '"workspace": "/srv/demo"',
    );
    // The browser itself reports the status of the answer.
    expect(opened.problems.splice(0)).toEqual([expect.stringContaining('404')]);
    expect(await audit(opened)).toEqual([]);
  });
});

/** Text that the terminal of a command contains. */
const terminal = ({ page }: ConsolePage) => page.getByRole('region', { name: /^Output of/ });

describe.skipIf(browser.isMissing)('a session', browser.needs, () => {
  it('asks for approvals, and sends the reason of a refusal', async () => {
    const server = await startServer();
    const reasons: (string | null)[] = [];
    const opened = await watch(server, async (turn) => {
      turn.plan([
        ['Read', 'completed'],
        ['Change', 'in_progress'],
      ]);
      const patch = '*** Begin Patch\n*** Update File: a.ts\n@@\n-old line\n+new line\n*** End Patch\n';
      reasons.push(await turn.approve('apply_patch', { patch }));
      reasons.push(await turn.approve('exec_command', { cmd: 'rm -rf \u202Etxt.exe' }));
      await turn.say('I leave it.');
    });
    const { page } = opened;
    await send(opened, 'Clean up');
    await page.getByRole('heading', { name: 'codex wants to change files' }).waitFor();
    await page.getByRole('complementary').getByText('Now: Change').waitFor();
    const diff = page.getByRole('region', { name: 'Diff of a.ts' });
    expect(await diff.innerText()).toMatch(/−\s*old line\s*\+\s*new line/);
    expect(await page.title()).toMatch(/^\(!\) /);
    expect(await audit(opened)).toEqual([]);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('heading', { name: 'codex wants to run a command' }).waitFor();
    // What would change the order of the text is spelt out.
    await page.getByText('rm -rf ⟨U+202E⟩txt.exe').first().waitFor();
    await page.getByRole('button', { name: 'Decline…' }).click();
    await page.keyboard.type('Too dangerous');
    expect(await audit(opened)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByText('I leave it.', { exact: true }).waitFor();
    expect(reasons).toEqual([null, 'Too dangerous']);
    await page.getByText('Approved: a change of files').waitFor();
    await page.getByText('“Too dangerous”').waitFor();
  });

  it('answers functions of a client', async () => {
    const server = await startServer();
    const opened = await watch(server, async (turn) => {
      const [paris, rome] = await turn.calls([
        ['get_weather', { city: 'Paris' }],
        ['get_weather', { city: 'Rome' }],
      ]);
      await turn.say(`${paris?.output ?? ''} and ${rome?.error ?? ''}`);
    });
    const { page } = opened;
    await send(opened, 'Weather?');
    const first = page.getByRole('region', { name: 'The client has to answer get_weather (1 of 2)' });
    await first.getByLabel('Output').fill('sunny');
    await first.getByRole('button', { name: 'Send output' }).click();
    const second = page.getByRole('region', { name: 'The client has to answer get_weather', exact: true });
    await second.getByLabel('Output').fill('no station');
    await second.getByRole('button', { name: 'Send as error' }).click();
    await page.getByText('sunny and no station', { exact: true }).waitFor();
    expect(server.agents.last.inputs.slice(1).map(({ success }) => success)).toEqual([true, false]);
  });

  it('shows a long output as it comes, with its beginning and its end, and within limits', async () => {
    const server = await startServer();
    const gate = createGate();
    const second = createGate();
    const opened = await watch(server, async (turn) => {
      const command = turn.command("seq 'all'");
      command.write('\u001B[31mfirst line\u001B[0m\n');
      await gate.promise;
      // Four megabytes, in pieces that split lines and escape sequences.
      const text = Array.from(
        { length: 60_000 },
        (_, at) => `\u001B[32mline\u001B[0m ${at} ${'x'.repeat(60)}\n`,
      ).join('');
      for (let at = 0; at < text.length; at += 997) {
        command.write(text.slice(at, at + 997));
        if (at % 99_700 === 0) await new Promise((resolve) => void setImmediate(resolve));
      }
      command.write('10%\r50%\r100%\n');
      await second.promise;
      command.write('the last line\n');
      command.end(3);
    });
    const { page } = opened;
    await send(opened, 'Count');
    await page.locator('.ansi-31', { hasText: 'first line' }).waitFor();
    gate.open();
    await expect.poll(() => terminal(opened).innerText()).toMatch(/line 59999 x+\n100%\n$/);
    const heightOf = (): Promise<number[]> =>
      terminal(opened).evaluate((element) => [
        element.scrollTop + element.clientHeight,
        element.scrollHeight,
      ]);
    const [bottom = 0, height = 0] = await heightOf();
    expect(Math.abs(height - bottom)).toBeLessThan(3);
    expect((await terminal(opened).innerText()).length).toBeLessThan(400_000);
    expect(await page.evaluate('document.querySelectorAll("*").length')).toBeLessThan(12_000);
    await page.getByText(/The end of 4\.\d MB\./).waitFor();
    expect(await audit(opened)).toEqual([]);
    await page.getByRole('button', { name: 'Show the beginning' }).click();
    expect(await terminal(opened).innerText()).toMatch(/^first line\nline 0 x+\n/);
    await page.getByRole('button', { name: 'Show the end' }).click();
    // A person who has scrolled up stays there.
    await terminal(opened).evaluate((element) => void (element.scrollTop = 100));
    await expect.poll(() => terminal(opened).evaluate(({ scrollTop }) => scrollTop)).toBe(100);
    second.open();
    await page.getByText('Exit 3').waitFor();
    expect(await terminal(opened).evaluate(({ scrollTop }) => scrollTop)).toBe(100);
    expect(await terminal(opened).innerText()).toContain('the last line');
  });

  it('shows a large diff closed, and opens it in steps', async () => {
    const server = await startServer();
    const lines = Array.from({ length: 5000 }, (_, at) => `+const value${at} = ${at};`).join('\n');
    const opened = await watch(server, async (turn) => {
      turn.patch([
        {
          path: 'src/small.ts',
          kind: 'update',
          move_path: null,
          diff: '@@ -1,2 +1,2 @@\n same\n-old\n+new\n',
        },
        {
          path: 'src/large.ts',
          kind: 'update',
          move_path: 'src/moved.ts',
          diff: `@@ -1,0 +1,5000 @@\n${lines}\n`,
        },
        { path: 'gone.md', kind: 'delete', move_path: null, diff: 'Nothing\nhere\n' },
      ]);
      turn.patch(
        [{ path: '../outside', kind: 'add', move_path: null, diff: 'x' }],
        'Outside of the workspace.',
      );
      await turn.say('Changed.');
    });
    const { page } = opened;
    await send(opened, 'Change');
    await page.getByText('Changed.', { exact: true }).waitFor();
    expect(await page.getByRole('region', { name: 'Diff of src/small.ts' }).innerText()).toContain('old');
    const large = page.getByRole('button', { name: 'src/large.ts → src/moved.ts' });
    expect(await large.getAttribute('aria-expanded')).toBe('false');
    await page.getByText('The patch was not applied: Outside of the workspace.').waitFor();
    const files = page.getByRole('complementary').getByRole('listitem');
    expect((await files.allInnerTexts()).map((text) => text.replaceAll(/lines \w+:|\s/g, ''))).toEqual([
      'src/small.ts+1−1',
      'src/moved.ts+5,000−0',
      'gone.md+0−2',
    ]);
    expect(await audit(opened)).toEqual([]);
    await large.click();
    const diff = page.getByRole('region', { name: 'Diff of src/large.ts' });
    await diff.getByText('1,000 of 5,001 lines.').waitFor();
    await diff.getByRole('button', { name: 'Show more lines' }).click();
    await diff.getByText('2,000 of 5,001 lines.').waitFor();
    expect(await diff.getByText('const value1998 = 1998;').count()).toBe(1);
  });

  it('is steered and cancelled while it runs', async () => {
    const server = await startServer();
    const opened = await watch(server, async (turn) => {
      const command = turn.command('sleep 60');
      command.write('waiting\n');
      const text = await turn.steered();
      await turn.say(`You said: ${text}`, { phase: 'commentary' });
      await turn.steered();
    });
    const { page } = opened;
    await send(opened, 'Wait');
    await page.getByRole('region', { name: 'Output of sleep 60' }).waitFor();
    await page.getByRole('textbox', { name: 'Message to the running turn' }).fill('Be quick');
    await page.keyboard.press('Control+Enter');
    await page.getByText('You said: Be quick', { exact: true }).waitFor();
    expect(await page.getByText('codex reads this at its next step.').count()).toBe(0);
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('The session has a turn that runs: cancel it first.').waitFor();
    // The browser itself reports the status of the answer.
    expect(opened.problems.splice(0)).toEqual([expect.stringContaining('409')]);
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.getByRole('button', { name: 'Cancel the turn' }).click();
    await page.getByText('Cancelled', { exact: true }).waitFor();
    await page.getByText('Ended', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Cancel the turn' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
    await page.getByText('There are no sessions yet.').waitFor();
    expect(opened.problems).toEqual([]);
  });

  it('shows a message as pending until codex has read it', async () => {
    const server = await startServer();
    const gate = createGate();
    const opened = await watch(server, async (turn, text) => {
      await gate.promise;
      await turn.say(`Done with ${text}`);
    });
    await send(opened, 'one');
    await send(opened, 'two', 'Steer');
    await opened.page.getByText('codex reads this at its next step.').waitFor();
    gate.open();
    // The turn ended first: the message began another one.
    await opened.page.getByText('Done with two', { exact: true }).waitFor();
    expect(await opened.page.getByText('codex reads this at its next step.').count()).toBe(0);
  });

  it('shows the same to two viewers, and one of them answers', async () => {
    const server = await startServer();
    const opened = await watch(server, async (turn) => {
      await turn.approve('exec_command', { cmd: 'npm install' });
      const command = turn.command('npm install');
      command.write('added 3 packages\n');
      command.end(0);
      await turn.say('Installed.');
    });
    const other = await open(server, `/agents/${opened.id}`);
    await other.page.getByText('Live', { exact: true }).waitFor();
    await send(opened, 'Install');
    for (const { page } of [opened, other])
      await page.getByRole('heading', { name: 'codex wants to run a command' }).waitFor();
    await other.page.getByRole('button', { name: 'Approve' }).click();
    for (const one of [opened, other]) {
      await one.page.getByText('Installed.', { exact: true }).waitFor();
      expect(await one.page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
      expect(await terminal(one).innerText()).toBe('added 3 packages\n');
      expect(one.problems).toEqual([]);
    }
    expect(server.agents.last.inputs.map(({ type }) => type)).toEqual([
      'agent.session.input.message',
      'agent.session.input.tool_result',
    ]);
  });

  it('connects again after the last event that arrived', async () => {
    const server = await startServer();
    const gate = createGate();
    const second = createGate();
    const opened = await watch(server, async (turn) => {
      const command = turn.command('make');
      command.write('one\n');
      await gate.promise;
      command.write('two\n');
      await second.promise;
      command.write('three\n');
      command.end(0);
      await turn.say('Built.');
    });
    const { page } = opened;
    await send(opened, 'Build');
    await expect.poll(() => terminal(opened).innerText()).toBe('one\n');
    server.dropStreams(true);
    await page.getByText('Reconnecting').waitFor();
    await page.getByText('Connecting again…').waitFor();
    gate.open();
    server.dropStreams(false);
    await expect.poll(() => terminal(opened).innerText()).toBe('one\ntwo\n');
    await page.getByText('Live', { exact: true }).waitFor();
    expect(server.resumed.length).toBeGreaterThan(0);
    // The events after the last one are gone: everything is loaded again.
    server.dropStreams(true);
    await page.getByText('Reconnecting').waitFor();
    second.open();
    await expect.poll(() => server.agents.last.isRunning).toBe(false);
    server.agents.last.forgetEvents();
    server.dropStreams(false);
    await page.getByRole('button', { name: 'Connect now' }).click();
    await page.getByText('Built.', { exact: true }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    expect(await page.getByText('Built.', { exact: true }).count()).toBe(1);
    expect(await page.getByRole('button', { name: 'make', exact: true }).count()).toBe(1);
  });

  it('says that another person has deleted it, and that it never was', async () => {
    const server = await startServer();
    const opened = await watch(server, async (turn) => turn.say('Hello.'));
    const { page } = opened;
    await send(opened, 'Hi');
    await page.getByText('Hello.', { exact: true }).waitFor();
    await expect.poll(() => server.agents.last.isRunning).toBe(false);
    server.agents.remove(opened.id);
    await page.getByText('This session was deleted. What is shown here is no longer stored.').waitFor();
    expect(await page.getByRole('textbox', { name: 'Message' }).isDisabled()).toBe(true);
    const unknown = await open(server, '/agents/asess_none');
    await unknown.page.getByText('There is no session with this id').waitFor();
  });

  it('shows what an ended session has stored, page by page', async () => {
    const server = await startServer();
    server.agents.script = async (turn, text) => {
      turn.search('weather in Paris');
      for (let number = 1; number <= 30; number += 1) {
        const command = turn.command(`echo ${text} ${number}`);
        command.write(`${text} ${number}\n`);
        command.end(0);
      }
      if (text === 'second') throw new Error('The model is gone.');
    };
    const { id } = server.agents.create({
      environment: { type: 'none' },
      agent: { model: 'm' },
      input: 'first',
    });
    const session = server.agents.session(id);
    await expect.poll(() => session.isRunning).toBe(false);
    session.start('second');
    await expect.poll(() => session.isRunning).toBe(false);
    const opened = await open(server, `/agents/${id}`);
    const { page } = opened;
    await page.getByText('The model is gone. (server_error)').waitFor();
    await page.getByText('Failed', { exact: true }).waitFor();
    const commands = page.getByRole('button', { name: /^echo/ });
    expect(await commands.count()).toBeLessThan(40);
    await page.getByRole('button', { name: 'Show what was before' }).click();
    await page.getByText('first', { exact: true }).first().waitFor();
    await expect.poll(() => commands.count()).toBe(60);
    expect(await page.getByRole('button', { name: 'Show what was before' }).count()).toBe(0);
    expect(await page.getByText('Searched the web: weather in Paris').count()).toBe(2);
    // Commands of the past are closed until a person opens them.
    await commands.first().click();
    expect(await terminal(opened).innerText()).toBe('first 1\n');
    expect(await audit(opened)).toEqual([]);
  });

  it('works on a phone and with the keyboard', async () => {
    const server = await startServer();
    const gate = createGate();
    const opened = await watch(
      server,
      async (turn) => {
        turn.plan([['Build everything', 'in_progress']]);
        const command = turn.command(`echo ${'long '.repeat(80)}`);
        command.write(`${'wide'.repeat(200)}\n`);
        turn.patch([
          {
            path: `${'deep/'.repeat(20)}file.ts`,
            kind: 'add',
            move_path: null,
            diff: `${'y'.repeat(400)}\n`,
          },
        ]);
        await gate.promise;
        command.end(0);
      },
      PHONE,
    );
    const { page } = opened;
    await send(opened, 'Go');
    await terminal(opened).waitFor();
    await page.getByText('Build everything').filter({ visible: true }).waitFor();
    expect(await audit(opened)).toEqual([]);
    await page.getByRole('button', { name: 'Plan, files, usage' }).click();
    await page.getByRole('heading', { name: 'Changed files' }).waitFor();
    expect(await audit(opened)).toEqual([]);
    const stops = await tabStops(page);
    expect(stops.filter(({ isMarked }) => !isMarked)).toEqual([]);
    expect(stops.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'Cancel the turn',
        'Delete…',
        'Message to the running turn',
        'Copy the id of the session',
      ]),
    );
    gate.open();
    await page.getByText('Completed', { exact: true }).waitFor();
  });
});
