// node-redis. Argument: PORT.

const { createClient, commandOptions } = require('redis');

const say = (name, ...values) => console.log(`${name}:`, ...values.map((value) => (typeof value === 'boolean' ? Number(value) : value)));

async function main(port) {
  const db = createClient({ url: `redis://127.0.0.1:${port}` });
  await db.connect();
  const { bf, cf } = db;

  say('version', require('redis/package.json').version);
  say('reserve', await bf.reserve('k', 0.01, 1000));
  say('add', await bf.add('k', 'a'), await bf.add('k', 'a'));
  say('madd', ...(await bf.mAdd('k', ['a', 'b', 'c'])));
  say('exists', await bf.exists('k', 'a'), await bf.exists('k', 'z'));
  say('mexists', ...(await bf.mExists('k', ['a', 'z'])));
  say('insert', ...(await bf.insert('i', ['x', 'y'], { CAPACITY: 1000, ERROR: 0.01 })));
  say('card', await db.sendCommand(['BF.CARD', 'k'])); // newer releases have bf.card
  say('capacity', (await bf.info('k')).capacity);
  say('items', ...(await db.sendCommand(['BF.INFO', 'k', 'ITEMS'])));
  const full = await db.sendCommand(['BF.INFO', 'k', 'FULL']);
  say('estimated', full[full.indexOf('Estimated items') + 1]);

  await bf.reserve('big', 0.000001, 1000);
  await bf.mAdd('big', [...Array(1000).keys()].map(String));
  const text = await bf.scanDump('big', 0);
  const refused = await bf.loadChunk('as-text', text.iterator, text.chunk).catch((error) => error);
  if (refused instanceof Error) say('mind', 'a-chunk-is-not-text');
  // A chunk must come as a Buffer.
  const binary = commandOptions({ returnBuffers: true });
  let loaded;
  for (let iterator = 0; ; ) {
    const reply = await db.sendCommand(['BF.SCANDUMP', 'big', String(iterator)], binary);
    iterator = reply[0];
    if (iterator === 0) break;
    loaded = await bf.loadChunk('copy', iterator, reply[1]);
  }
  say('copy', loaded, ...(await bf.mExists('copy', ['0', '999', 'z'])));

  const item = Buffer.from([0, 255, 10]);
  say('binary', await bf.add('k', item), ...(await bf.mExists('k', [item, item.subarray(0, 2)])));
  const bits = await db.sendCommand(['BF.PACKADD', 'p', 'FIXED', '1', 'abcdefgh', 'BITS'], binary);
  say('bits', bits.toString('hex'));
  const window = await db.sendCommand(['BF.RESERVE', 'w', '0.01', '100', 'WINDOW', '60']);
  say('window', window, await bf.add('w', 'a'), await bf.add('w', 'a'));

  await bf.reserve('n', 0.01, 2, { NONSCALING: true });
  const replies = await bf.mAdd('n', ['a', 'b', 'c']).catch((error) => error);
  if (replies instanceof Error) say('mind', 'an-error-among-the-replies');
  else if (!(replies[2] instanceof Error)) say('mind', 'an-error-is-false');
  say('full', ...(await bf.mExists('n', ['a', 'b', 'c'])));

  const counts = [await cf.reserve('c', 100), await cf.add('c', 'a'), await cf.add('c', 'a'), await cf.count('c', 'a')];
  say('counting', ...counts, await cf.del('c', 'a'), await cf.count('c', 'a'));
  say('deleted', (await cf.info('c')).numberOfDeletedItems);
  await bf.reserve('k', 0.01, 1000).catch((error) => say('error', error.message.replace(/^ERR /, '')));
  await db.quit();
}

main(process.argv[2]).catch((error) => {
  console.error(error);
  process.exit(1);
});
