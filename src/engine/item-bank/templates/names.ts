/** First names and weekdays of the Entry level templates; their order is part of what a seed renders. */
export const names = [
  'Amir',
  'Grace',
  'Tom',
  'Sana',
  'Olu',
  'Rosa',
  'Mei',
  'Dylan',
  'Priya',
  'Marek',
  'Nia',
  'Yusuf',
] as const;
export const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;
