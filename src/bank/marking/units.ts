import type { Fraction } from '../number.ts';

/** What a unit measures, and how many of the dimension's first unit one of it is. */
export type Unit = { dimension: string; factor: Fraction };

const unit = (dimension: string, n: number | bigint, d: number | bigint = 1): Unit => ({
  dimension,
  factor: { n: BigInt(n), d: BigInt(d) },
});

/**
 * Each unit with every way in which it is written, in small letters, without spaces, full stops and the sign of a
 * power.
 */
const spellings: readonly [Unit, string][] = [
  [unit('money', 100), '£ gbp pound pounds quid poundsterling poundssterling sterling'],
  [unit('money', 1), 'p pence penny pennies'],
  [unit('money', 100_000), 'thousandpounds £thousand £k'],
  [unit('dollar', 1), '$ dollar dollars usd'],
  [unit('euro', 1), '€ euro euros eur'],
  [unit('length', 1), 'mm millimetre millimetres millimeter millimeters'],
  [unit('length', 10), 'cm cms centimetre centimetres centimeter centimeters'],
  [unit('length', 1000), 'm metre metres meter meters mtr mtrs'],
  [unit('length', 1_000_000), 'km kms kilometre kilometres kilometer kilometers'],
  [unit('mile', 1), 'mi mile miles'],
  [unit('inch', 1), 'in inch inches "'],
  [unit('inch', 12), 'ft foot feet'],
  [unit('inch', 36), 'yd yds yard yards'],
  [unit('ounce', 1), 'oz ounce ounces'],
  [unit('ounce', 16), 'lb lbs'],
  [unit('pint', 1), 'pt pint pints'],
  [unit('pint', 8), 'gal gallon gallons'],
  [unit('mass', 1), 'mg milligram milligrams'],
  [unit('mass', 1000), 'g gm gms gram grams gramme grammes'],
  [unit('mass', 1_000_000), 'kg kgs kilo kilos kilogram kilograms kilogramme kilogrammes'],
  [unit('mass', 1_000_000_000), 'tonne tonnes'],
  [unit('capacity', 1), 'ml mls millilitre millilitres milliliter milliliters'],
  [unit('capacity', 10), 'cl centilitre centilitres'],
  [unit('capacity', 1000), 'l lt ltr ltrs litre litres liter liters'],
  [unit('time', 1), 's sec secs second seconds'],
  [unit('time', 60), 'min mins minute minutes minuet minuets'],
  [unit('time', 3600), 'h hr hrs hour hours'],
  [unit('time', 86_400), 'd day days'],
  [unit('time', 604_800), 'wk wks week weeks'],
  [unit('month', 1), 'month months mth mths'],
  [unit('month', 12), 'yr yrs year years'],
  [unit('area', 1), 'mm2 mmsq sqmm squaremillimetre squaremillimetres millimetressquared mmsquared'],
  [unit('area', 100), 'cm2 cmsq sqcm squarecm squarecentimetre squarecentimetres centimetressquared cmsquared'],
  [
    unit('area', 1_000_000),
    'm2 msq sqm squarem squaremetre squaremetres squaremeter squaremeters metressquared metresquared meterssquared metersquared msquared sqmetre sqmetres',
  ],
  [unit('area', 1_000_000_000_000), 'km2 sqkm squarekm squarekilometre squarekilometres kilometressquared'],
  [unit('volume', 1), 'cm3 cubiccm cubiccentimetre cubiccentimetres centimetrescubed cmcubed cc'],
  [
    unit('volume', 1_000_000),
    'm3 cubicm cubicmetre cubicmetres cubicmeter cubicmeters metrescubed metrecubed meterscubed metercubed mcubed cubemetres cubemetre',
  ],
  [
    unit('temperature', 1),
    '°c c ºc degc celsius centigrade degreescelsius degreecelsius degreescentigrade degreesc degreec',
  ],
  [unit('fahrenheit', 1), '°f f ºf degf fahrenheit degreesf degreef degreesfahrenheit degreefahrenheit'],
  [unit('angle', 1), '° º degree degrees deg degs'],
  [unit('percent', 1), '% percent percentage pc pct'],
  [unit('data', 1), 'kb kilobyte kilobytes'],
  [unit('data', 1000), 'mb megabyte megabytes meg megs'],
  [unit('data', 1_000_000), 'gb gigabyte gigabytes gig gigs'],
  [unit('data', 1_000_000_000), 'tb terabyte terabytes'],
  [unit('speed', 1), 'km/h km/hr kmh kph kmperhour kilometresperhour kmph kilometresanhour kmanhour'],
  [unit('speed', 18, 5), 'm/s mps metrespersecond'],
  [unit('mph', 1), 'mph m/h milesperhour milesanhour miles/hour'],
  [unit('density', 1), 'g/cm3 gpercm3 gramspercm3 gramspercubiccentimetre'],
  [unit('density', 1, 1000), 'kg/m3 kgperm3 kilogramspercubicmetre'],
];

const table = new Map<string, Unit>();
for (const [one, names] of spellings) for (const name of names.split(' ')) table.set(name, one);

/** The form in which spellings of a unit are compared: `M ^2`, `m²` and `m2.` are one. */
export function plainUnit(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s.^-]/gu, '');
}

export function unitNamed(text: string): Unit | null {
  const plain = plainUnit(text);
  // "metres²": the sign of the power behind the whole word.
  const powered = /^(milli|centi|kilo)?met(?:re|er)s?([23])$/u.exec(plain);
  const short = { milli: 'mm', centi: 'cm', kilo: 'km' } as const;
  const name = powered === null ? plain : `${short[powered[1] as keyof typeof short] ?? 'm'}${powered[2]}`;
  return table.get(name) ?? null;
}
