import { pick } from '../../random.ts';
import type { Template } from '../template.ts';
import { numeric, poundsValue, several, template, timeOfDay, whole } from './question.ts';

const names = ['Amir', 'Grace', 'Tom', 'Sana', 'Olu', 'Rosa', 'Mei', 'Dylan', 'Priya', 'Marek', 'Nia', 'Yusuf'] as const;
const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;

const entry1: Template[] = [
  template('e1_add_more', (random) => {
    const first = whole(random, 4, 12);
    const more = whole(random, 3, 8);
    const total = first + more;
    if (total > 20 || total < 10 || first === more) return null;
    const [thing, place] = pick(random, [['books', 'shelf'], ['plates', 'table'], ['boxes', 'van'], ['letters', 'desk'], ['bags', 'trolley']] as const);
    const name = pick(random, names);
    return numeric({
      stem: [`There are ${first} ${thing} on a ${place}. ${name} puts ${more} more ${thing} on the ${place}.`, `How many ${thing} are on the ${place} now?`],
      value: String(total), solution: `${first} + ${more} = ${total}`,
      wrong: [[String(Math.abs(first - more)), 'Took away instead of adding.'], [String(total - 1), `Counted on from ${first} but counted the ${first} as one.`]],
    });
  }),
  template('e1_take_away', (random) => {
    const first = whole(random, 11, 20);
    const gone = whole(random, 3, 9);
    const left = first - gone;
    if (left < 3 || left === gone) return null;
    const name = pick(random, names);
    const [thing, verb] = pick(random, [['tickets', 'sells'], ['cakes', 'sells'], ['apples', 'uses'], ['stamps', 'uses'], ['pens', 'gives away']] as const);
    return numeric({
      stem: [`${name} has ${first} ${thing}. ${name} ${verb} ${gone} of them.`, `How many ${thing} are left?`],
      value: String(left), solution: `${first} − ${gone} = ${left}`,
      wrong: [[String(left + 1), `Counted back from ${first} but counted the ${first} as one.`], [String(first + gone), 'Added instead of taking away.']],
    });
  }),
  template('e1_hours_later', (random) => {
    const start = whole(random, 1, 5);
    const hours = whole(random, 2, 4);
    const end = start + hours;
    if (start === hours) return null;
    const [what, does] = pick(random, [['A class', 'lasts'], ['A film', 'lasts'], ['A meeting', 'lasts'], ['A bus trip', 'takes']] as const);
    return numeric({
      stem: [`${what} starts at ${start} o’clock in the afternoon. It ${does} ${hours} hours.`, 'At what time does it end?'],
      value: String(end), unit: 'oclock', solution: `${start} o’clock and ${hours} hours more is ${end} o’clock.`,
      wrong: [[String(end - 1), `Counted ${start} o’clock as the first hour.`], [String(hours), 'Gives how long it is, not when it ends.']],
    });
  }),
  template('e1_change_from_20p', (random) => {
    const price = whole(random, 6, 17);
    const change = 20 - price;
    if (price === 10) return null;
    const name = pick(random, names);
    const thing = pick(random, ['sweet', 'stamp', 'screw', 'card', 'biscuit', 'pencil']);
    return numeric({
      stem: [`A ${thing} costs ${price}p. ${name} pays with a 20p coin.`, `How much change does ${name} get?`],
      value: String(change), unit: 'pence', solution: `20p − ${price}p = ${change}p`,
      wrong: [[String(change + 1), `Counted the ${price} as one when counting up to 20.`], [String(price), 'Gives the price.']],
    });
  }),
  template('e1_table_more', (random) => {
    const shown = several(random, 3, days);
    const counts = shown.map(() => whole(random, 3, 19));
    const [a, b, c] = counts as [number, number, number];
    if (a - b < 3 || new Set(counts).size < 3 || a - b === b || a - b === c || a - c === a - b) return null;
    const rows = shown.map((day, at) => [day, String(counts[at])]).sort((one, other) => days.indexOf(one[0] as never) - days.indexOf(other[0] as never));
    const what = pick(random, ['at the class', 'at the lunch club', 'on the bus', 'in the gym']);
    return numeric({
      stem: [`The table shows how many people were ${what}.`, `How many **more** people were there on ${shown[0]} than on ${shown[1]}?`],
      figure: { kind: 'table', caption: `People ${what}`, header: ['Day', 'People'], rows },
      value: String(a - b), solution: `${shown[0]}: ${a}. ${shown[1]}: ${b}. ${a} − ${b} = ${a - b}`,
      wrong: [[String(a), `Gives the number for ${shown[0]}.`], [String(a + b), 'Added the two numbers.'], [String(Math.abs(a - c)), `Read the number for ${shown[2]}, not for ${shown[1]}.`]],
    });
  }),
];

const entry2: Template[] = [
  template('e2_add_carry', (random) => {
    const first = whole(random, 26, 98);
    const second = whole(random, 25, 97);
    if ((first % 10) + (second % 10) < 10 || first === second || first % 10 === 0 || second % 10 === 0) return null;
    const total = first + second;
    const uncarried = Math.floor(first / 10) * 10 + Math.floor(second / 10) * 10 + ((first + second) % 10);
    const [one, two, thing] = pick(random, [['in the morning', 'in the afternoon', 'calls'], ['on Monday', 'on Tuesday', 'calls'], ['in May', 'in June', 'calls']] as const);
    const name = pick(random, names);
    return numeric({
      stem: [`${name} takes ${first} ${thing} ${one} and ${second} ${thing} ${two}.`, `How many ${thing} is that in total?`],
      value: String(total), solution: `${first} + ${second} = ${total}`,
      wrong: [[String(uncarried), 'Forgot to carry the ten.'], [String(Math.abs(first - second)), 'Took away instead of adding.']],
    });
  }),
  template('e2_groups', (random) => {
    const groups = whole(random, 3, 9);
    const each = pick(random, [4, 6, 8, 9, 11, 12]);
    if (groups === each || groups * each < 20) return null;
    const [holders, holder, thing] = pick(random, [['boxes', 'box', 'mugs'], ['shelves', 'shelf', 'books'], ['packs', 'pack', 'batteries'], ['trays', 'tray', 'plants'], ['bags', 'bag', 'rolls']] as const);
    return numeric({
      stem: [`There are ${groups} ${holders}. Each ${holder} holds ${each} ${thing}.`, `How many ${thing} are there in total?`],
      value: String(groups * each), solution: `${groups} × ${each} = ${groups * each}`,
      wrong: [[String(groups + each), 'Added instead of multiplying.'], [String(groups * (each - 1)), `Went one step too low in the ${groups} times table.`]],
    });
  }),
  template('e2_left_over', (random) => {
    const size = whole(random, 3, 9);
    const full = whole(random, 3, 9);
    const over = whole(random, 1, size - 1);
    const total = size * full + over;
    if (total > 80 || over === full) return null;
    const [thing, holder, holders] = pick(random, [['eggs', 'box', 'boxes'], ['cakes', 'box', 'boxes'], ['pens', 'pack', 'packs'], ['tins', 'bag', 'bags'], ['candles', 'box', 'boxes']] as const);
    const name = pick(random, names);
    return numeric({
      stem: [`${name} has ${total} ${thing}. ${name} puts ${size} ${thing} in each ${holder}, and fills as many ${holders} as possible.`, `How many ${thing} are left over?`],
      value: String(over), solution: `${total} ÷ ${size} = ${full} remainder ${over}, because ${size} × ${full} = ${size * full} and ${total} − ${size * full} = ${over}`,
      wrong: [[String(full), `Gives the number of full ${holders}.`], [String(size - over), `Gives how many more would fill one more ${holder}.`]],
    });
  }),
  template('e2_change_from_pound', (random) => {
    const first = whole(random, 15, 55);
    const second = whole(random, 12, 45);
    const change = 100 - first - second;
    if (change < 5 || first === second || change === first || change === second || (first + second) % 10 === 0) return null;
    const [one, two] = pick(random, [['An apple', 'a banana'], ['A roll', 'an apple'], ['A pen', 'a card'], ['A stamp', 'an envelope']] as const);
    const name = pick(random, names);
    return numeric({
      stem: [`${one} costs ${first}p and ${two} costs ${second}p. ${name} buys both and pays with a £1 coin.`, `How much change does ${name} get?`],
      value: String(change), unit: 'pence', solution: `${first}p + ${second}p = ${first + second}p. 100p − ${first + second}p = ${change}p`,
      wrong: [[String(first + second), 'Gives what both cost.'], [String(100 - first), 'Took away the first price only.'], [String(change + 10), 'Made a slip of ten when taking away from 100.']],
    });
  }),
  template('e2_hours_open', (random) => {
    const open = whole(random, 7, 11);
    const close = whole(random, 15, 19);
    if (close - open === open) return null;
    const place = pick(random, ['library', 'shop', 'post office', 'gym', 'swimming pool', 'café']);
    const day = pick(random, days);
    return numeric({
      stem: [`On ${day} a ${place} opens at ${timeOfDay(open * 60)} and closes at ${timeOfDay(close * 60)}.`, 'For how many hours is it open?'],
      value: String(close - open), unit: 'hours', solution: `From ${timeOfDay(open * 60)} to ${timeOfDay(close * 60)} is ${close} − ${open} = ${close - open} hours.`,
      wrong: [[String(close + 2 - open), `Read ${close}:00 as ${close - 10} pm.`], [String(close - open + 1), 'Counted the opening hour and the closing hour.']],
    });
  }),
  template('e2_bar_compare', (random) => {
    const labels = several(random, 4, ['Walk', 'Bus', 'Car', 'Bike', 'Train']);
    const counts = labels.map(() => whole(random, 8, 60, 2));
    const [a, b] = counts as [number, number];
    const gap = a - b;
    if (new Set(counts).size < 4 || gap < 6 || gap === b || counts.includes(gap)) return null;
    const place = pick(random, ['an office', 'a college', 'a factory', 'a hospital']);
    return numeric({
      stem: [`The chart shows how people get to ${place}.`, `How many **more** people chose “${labels[0]}” than “${labels[1]}”?`],
      figure: { kind: 'bar_chart', caption: `How people get to ${place}`, x_label: 'Way to travel', y_label: 'People', points: labels.map((label, at) => ({ label, value: counts[at]! })).sort((one, other) => (one.label < other.label ? -1 : 1)) },
      value: String(gap), solution: `${labels[0]}: ${a}. ${labels[1]}: ${b}. ${a} − ${b} = ${gap}`,
      wrong: [[String(a + b), 'Added the two numbers.'], [String(a), `Gives the number for “${labels[0]}”.`], [String(b), `Gives the number for “${labels[1]}”.`]],
    });
  }),
];

/** The error of taking the smaller digit from the larger in every column. */
const smallerFromLarger = (a: number, b: number): number =>
  [100, 10, 1].reduce((total, place) => total + place * Math.abs((Math.floor(a / place) % 10) - (Math.floor(b / place) % 10)), 0);

const entry3: Template[] = [
  template('e3_stock_left', (random) => {
    const stock = whole(random, 412, 930);
    const sold = whole(random, 126, 388);
    const left = stock - sold;
    if (stock % 10 >= sold % 10 || stock % 10 === 0 || left < 100) return null;
    const thing = pick(random, ['tins of paint', 'bricks', 'tickets', 'bottles of water', 'leaflets', 'light bulbs']);
    return numeric({
      stem: [`A firm has ${stock} ${thing}. It uses ${sold} of them.`, 'How many are left?'],
      value: String(left), solution: `${stock} − ${sold} = ${left}`,
      wrong: [[String(smallerFromLarger(stock, sold)), 'Took the smaller digit from the larger in each column.'], [String(left + 10), 'Forgot that a ten was exchanged.'], [String(stock + sold), 'Added instead of taking away.']],
    });
  }),
  template('e3_round', (random) => {
    const value = whole(random, 152, 968);
    const place = pick(random, [10, 100]);
    const rest = value % place;
    if (rest === 0 || rest === place / 2 || value >= 950 || value % 10 === 0 || value % 10 === 5) return null;
    const down = value - rest;
    const right = rest < place / 2 ? down : down + place;
    const other = rest < place / 2 ? down + place : down;
    const otherPlace = Math.round(value / (1000 / place)) * (1000 / place);
    const who = pick(random, ['people came to an open day', 'miles were driven by a van in a week', 'meals were served in a canteen', 'parcels went through a depot']);
    return numeric({
      stem: [`${value} ${who}.`, `Round ${value} to the nearest ${place}.`],
      value: String(right), solution: `${value} is between ${down} and ${down + place}. It is nearer to ${right}.`,
      wrong: [[String(other), 'Rounded the wrong way.'], [String(otherPlace), `Rounded to the nearest ${1000 / place}.`]],
    });
  }),
  template('e3_fraction_of', (random) => {
    const [n, d, word] = pick(random, [[2, 3, 'Two thirds'], [3, 4, 'Three quarters'], [2, 5, 'Two fifths'], [3, 5, 'Three fifths'], [3, 10, 'Three tenths'], [4, 5, 'Four fifths']] as const);
    const part = whole(random, 4, 15);
    const total = part * d;
    const place = pick(random, ['a choir', 'a night class', 'a call centre', 'a walking group', 'a warehouse team']);
    const what = pick(random, ['come by bus', 'work part time', 'live in the town', 'are new this year']);
    return numeric({
      stem: [`There are ${total} people in ${place}. ${word} of them ${what}.`, 'How many people is that?'],
      value: String(part * n), solution: `${total} ÷ ${d} = ${part}, and ${part} × ${n} = ${part * n}`,
      wrong: [[String(part), `Found one part only (${total} ÷ ${d}).`], [String(total - part * n), 'Gives the people who are not in that part.']],
    });
  }),
  template('e3_bill', (random) => {
    const count = whole(random, 3, 6);
    const price = whole(random, 135, 485, 5);
    const total = count * price;
    if (price % 100 === 0 || (price % 100) * count < 100) return null;
    const thing = pick(random, ['sandwiches', 'paint brushes', 'plants', 'bus tickets', 'bags of compost']);
    const name = pick(random, names);
    const pence = price % 100;
    return numeric({
      stem: [`${name} buys ${count} ${thing} at £${poundsValue(price)} each.`, `How much does ${name} pay?`],
      value: poundsValue(total), unit: 'pounds', solution: `${count} × £${poundsValue(price)} = £${poundsValue(total)}`,
      wrong: [[poundsValue((price - pence) * count + pence), 'Multiplied the pounds but not the pence.'], [poundsValue((price - pence) * count + ((pence * count) % 100)), 'Multiplied the pence but did not carry the pounds.'], [poundsValue(price + count * 100), `Added ${count} instead of multiplying by ${count}.`]],
    });
  }),
  template('e3_weekly_pay', (random) => {
    const hours = whole(random, 14, 38);
    const rate = whole(random, 12, 19);
    const total = hours * rate;
    if (total > 600 || hours % 10 === 0 || hours === rate) return null;
    const name = pick(random, names);
    const [tens, ones] = [hours - (hours % 10), hours % 10];
    return numeric({
      stem: [`${name} works ${hours} hours in a week. The pay is £${rate} an hour.`, `How much does ${name} earn in the week?`],
      value: String(total), unit: 'pounds', solution: `${hours} × £${rate} = ${hours} × 10 + ${hours} × ${rate - 10} = ${hours * 10} + ${hours * (rate - 10)} = £${total}`,
      wrong: [[String(tens * 10 + ones * (rate - 10)), 'Multiplied the tens by the tens and the ones by the ones only.'], [String(hours + rate), 'Added instead of multiplying.'], [String(hours * (rate - 9)), 'Forgot that the 1 in the pay is a ten.']],
    });
  }),
  template('e3_minutes_between', (random) => {
    const start = whole(random, 7 * 60 + 20, 16 * 60 + 55, 5);
    const length = whole(random, 35, 115, 5);
    const end = start + length;
    const crosses = Math.floor(end / 60) - Math.floor(start / 60);
    if (start % 60 === 0 || end % 60 === 0 || crosses < 1 || end % 60 >= start % 60 || [60, start % 60, end % 60].includes(length)) return null;
    const what = pick(random, ['A bus', 'A train', 'A coach']);
    const asHundreds = Math.floor(end / 60) * 100 + (end % 60) - Math.floor(start / 60) * 100 - (start % 60);
    return numeric({
      stem: [`${what} leaves at ${timeOfDay(start)} and arrives at ${timeOfDay(end)}.`, 'How many **minutes** does the trip take?'],
      value: String(length), unit: 'minutes', solution: `From ${timeOfDay(start)} to ${timeOfDay(start - (start % 60) + 60)} is ${60 - (start % 60)} minutes. From there to ${timeOfDay(end)} is ${length - 60 + (start % 60)} minutes. ${60 - (start % 60)} + ${length - 60 + (start % 60)} = ${length}`,
      wrong: [[String(asHundreds), 'Took the times away as if an hour had 100 minutes.'], [String(length + 60), 'Counted one hour too many.']],
    });
  }),
  template('e3_line_change', (random) => {
    const shown = ['8 am', '10 am', '12 noon', '2 pm', '4 pm'];
    const start = whole(random, 6, 12);
    const points = [start, start + whole(random, 1, 4), start + whole(random, 5, 7), start + whole(random, 8, 11), start + whole(random, 3, 6)];
    const from = whole(random, 0, 1);
    const to = whole(random, 2, 3);
    const rise = points[to]! - points[from]!;
    if (new Set(points).size < 5 || points.includes(rise) || [2, 8, 10, 12].includes(rise) || rise < 2 || points[4]! <= points[from]!) return null;
    const place = pick(random, ['a store room', 'a garden', 'an office', 'a greenhouse']);
    return numeric({
      stem: [`The graph shows the temperature in ${place} through one day.`, `By how many degrees did it rise from ${shown[from]} to ${shown[to]}?`],
      figure: { kind: 'line_graph', caption: `Temperature in ${place}`, x_label: 'Time', y_label: 'Temperature', unit: '°C', points: shown.map((label, at) => ({ label, value: points[at]! })) },
      value: String(rise), unit: 'degreesCelsius', solution: `${shown[from]}: ${points[from]} °C. ${shown[to]}: ${points[to]} °C. ${points[to]} − ${points[from]} = ${rise}`,
      wrong: [[String(points[to]), `Gives the temperature at ${shown[to]}.`], [String(points[to]! + points[from]!), 'Added the two temperatures.'], [String(points[4]! - points[from]!), 'Read the last point of the graph.']],
    });
  }),
];

export const entryTemplates: readonly Template[] = [...entry1, ...entry2, ...entry3];
