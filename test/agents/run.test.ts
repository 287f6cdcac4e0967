import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { afterAll, beforeAll, expect, it } from 'vitest';

import {
  itemsOf,
  openRunsScene,
  outcomeOf,
  outputsOf,
  patches,
  runs,
  shapeOf,
  type RunsScene,
} from '../support/agent-runs.ts';

let scene: RunsScene;
beforeAll(async () => {
  scene = await openRunsScene();
});
afterAll(() => scene.close());

it('runs a command, and shows what the model hears of it', async () => {
  scene.engine.play([{ say: 'Look.' }, runs('c1', 'echo héllo; exit 7')]);
  const { ended } = await scene.start();
  const events = await ended;
  console.log(JSON.stringify(events, null, 1));
  console.log(
    JSON.stringify(
      scene.engine.requests.map((r) => ({ ...r, instructions: r.instructions?.slice(0, 100) })),
      null,
      1,
    ).slice(0, 9000),
  );
});
