/** The name of our provider in `config.toml`, which each thread also names. */
export const PROVIDER_ID = 'proxy';
