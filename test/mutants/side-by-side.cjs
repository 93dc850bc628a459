/** Works on the items in as many lanes as are given: each takes the next item as soon as it has done its last one. */
async function sideBySide(lanes, items, work) {
  const queue = [...items];
  const takeNext = async (lane) => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      await work(lane, item, queue.length);
    }
  };
  await Promise.all(lanes.map(takeNext));
}

module.exports = { sideBySide };
