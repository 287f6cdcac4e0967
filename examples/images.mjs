// Node with the openai package: creates an image, then edits it with a preview.
//
//   npm install openai            (in a clone of this repository it is there)
//   export OPENAI_API_KEY=$(cat ~/.codex-app-server-proxy/api-key)
//   node examples/images.mjs
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';

const client = new OpenAI({ baseURL: process.env.OPENAI_BASE_URL ?? 'http://127.0.0.1:11435/v1' });

const { data, size } = await client.images.generate({ prompt: 'A sea otter, in ink.' });
const image = Buffer.from(data[0].b64_json, 'base64');
const file = join(tmpdir(), 'otter.png');
await writeFile(file, image);
console.log(`Drew ${size} into ${file}`);

const stream = await client.images.edit({
  image: await toFile(image, 'otter.png'),
  prompt: 'Put a hat on it.',
  stream: true,
  partial_images: 1,
});
for await (const event of stream) console.log(event.type);
