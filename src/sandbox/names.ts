/** The script that a stock of names is written in; the property value that `\p{Script=…}` takes, Japanese excepted. */
export type NameScript =
  | 'Latin'
  | 'Arabic'
  | 'Hebrew'
  | 'Greek'
  | 'Cyrillic'
  | 'Devanagari'
  | 'Bengali'
  | 'Gurmukhi'
  | 'Tamil'
  | 'Ethiopic'
  | 'Thai'
  | 'Han'
  | 'Japanese'
  | 'Hangul';

/** Names of one origin as a provider's register writes them. */
export type NameStock = {
  script: NameScript;
  /** Relative frequency among learners. */
  weight: number;
  women: readonly string[];
  men: readonly string[];
  families: readonly string[];
  /** Present where a woman's family name takes a form of its own; same order and length as `families`. */
  familiesOfWomen?: readonly string[];
  /** How given name (g) and family name (f) are written together. */
  form: 'g f' | 'f g' | 'fg' | 'g g f';
};

/** Names stand in one string, apart by spaces; an underscore is a space inside one name. */
const words = (text: string): string[] =>
  text
    .trim()
    .split(/\s+/)
    .map((word) => word.replaceAll('_', ' '));

const latin = (
  weight: number,
  women: string,
  men: string,
  families: string,
  familiesOfWomen?: string,
  form: NameStock['form'] = 'g f',
): NameStock => ({
  script: 'Latin',
  weight,
  form,
  women: words(women),
  men: words(men),
  families: words(families),
  ...(familiesOfWomen === undefined ? {} : { familiesOfWomen: words(familiesOfWomen) }),
});

const written = (
  script: NameScript,
  weight: number,
  form: NameStock['form'],
  women: string,
  men: string,
  families: string,
  familiesOfWomen?: string,
): NameStock => ({ ...latin(weight, women, men, families, familiesOfWomen, form), script });

const english = latin(
  300,
  `Olivia Amelia Emily Jessica Sophie Chloe Charlotte Lucy Megan Hannah Grace Ella Daisy Poppy Freya Holly Rebecca
   Laura Sarah Emma Katie Gemma Kelly Stacey Natalie Joanne Tracey Susan Margaret Donna Leanne Kirsty Abigail Zoe
   Georgia Paige Jade Bethany Amber Courtney Shanice Chantelle Keisha Naomi`,
  `Oliver George Harry Jack Jacob Charlie Thomas James William Daniel Joseph Samuel Luke Adam Ryan Liam Connor Kyle
   Callum Jordan Nathan Aaron Scott Lee Craig Darren Wayne Gary Kevin Paul Mark Stephen Andrew Simon Martin Peter
   Alfie Archie Tyler Kieran Leroy Delroy Marlon Jermaine`,
  `Smith Jones Taylor Brown Wilson Johnson Walker Wright Robinson Thompson White Hughes Edwards Green Hall Wood Harris
   Lewis Martin Jackson Clarke Clark Turner Hill Cooper Ward Morris Moore King Baker Harrison Morgan Allen Parker
   Bennett Shaw Cook Bailey Carter Richardson Webb Mills Barker Palmer Fletcher Ellis Gibson Holmes Hunt Knight Lloyd
   Marsh Naylor Oldham Pickering Ramsbottom Sidebottom Thwaite Underhill Wainwright Yates Campbell Grant Francis
   Henry Gayle Blake Reid Powell De_la_Haye St_John Featherstonehaugh`,
);

const irish = latin(
  50,
  `Aoife Ciara Niamh Sinéad Siobhán Róisín Gráinne Caoimhe Orla Maeve Bríd Áine Clodagh Eimear Saoirse Bernadette`,
  `Seán Patrick Conor Cian Eoin Oisín Pádraig Declan Brendan Niall Ruairí Fionn Cormac Darragh Tadhg Colm`,
  `O'Brien O'Connor O'Neill O'Sullivan O'Reilly O’Donnell O’Shea Murphy Kelly Byrne Ryan Walsh McCarthy Doherty Ó_Briain
   Kennedy Gallagher Quinn McLoughlin Mac_Giolla_Phádraig Ní_Dhomhnaill Fitzgerald Nolan Keane`,
);

const scottishAndWelsh = latin(
  60,
  `Eilidh Mairi Catriona Isla Morag Fiona Shona Angharad Bethan Carys Cerys Ffion Gwenllian Lowri Nia Rhiannon Seren Siân`,
  `Angus Hamish Euan Fraser Callum Lachlan Rory Iain Gethin Dafydd Gareth Gruffudd Huw Iwan Llŷr Owain Rhys Siôn`,
  `MacDonald McDonald MacLeod Campbell Stewart Robertson Murray Ross Sinclair Drummond McIntyre Mackenzie Davies Evans
   Griffiths Jenkins Llewellyn Morgan Owen Parry Price Pritchard Rees Roberts Vaughan Williams ap_Rhys ab_Owain`,
);

const polish = latin(
  70,
  `Anna Katarzyna Małgorzata Agnieszka Barbara Ewa Magdalena Joanna Beata Zofia Grażyna Żaneta Elżbieta Monika Paulina`,
  `Piotr Krzysztof Andrzej Tomasz Paweł Michał Marcin Jakub Łukasz Zbigniew Grzegorz Sławomir Wojciech Rafał Dariusz`,
  `Kowalski Wiśniewski Wójcik Kamiński Lewandowski Zieliński Szymański Dąbrowski Jankowski Mazur Nowak Krawczyk
   Piotrowski Grabowski Pawłowski Brzęczyszczykiewicz Żukowski Łuczak`,
  `Kowalska Wiśniewska Wójcik Kamińska Lewandowska Zielińska Szymańska Dąbrowska Jankowska Mazur Nowak Krawczyk
   Piotrowska Grabowska Pawłowska Brzęczyszczykiewicz Żukowska Łuczak`,
);

const romanian = latin(
  60,
  `Maria Elena Ioana Andreea Mihaela Cristina Alexandra Daniela Ștefania Ana-Maria Florentina Gabriela Loredana Mălina`,
  `Andrei Alexandru Ionuț Mihai Ștefan Cristian Florin Gheorghe Vasile Răzvan Cătălin Bogdan Marius Dănuț`,
  `Popescu Ionescu Popa Radu Dumitru Stan Stoica Gheorghe Matei Ciobanu Rusu Munteanu Moldovan Șerban Țăranu Lăcătuș
   Bălan Cojocaru Nistor Ungureanu`,
);

const portuguese = latin(
  40,
  `Maria Ana Beatriz Catarina Inês Mariana Conceição Fátima Lurdes Sónia Thaís Luíza Rosângela Jéssica`,
  `João José António Manuel Carlos Tiago Rui Nuno Luís Sérgio Estevão Thiago Vinícius Edson`,
  `Silva Santos Ferreira Pereira Oliveira Costa Rodrigues Martins de_Sousa Gonçalves Araújo dos_Reis da_Conceição
   Magalhães Guimarães D'Almeida e_Silva Cruz Simões Vaz`,
);

const pakistaniAndBangladeshi = latin(
  70,
  `Fatima Ayesha Zainab Maryam Khadija Sana Rabia Nadia Saima Shazia Rukhsana Nasreen Farzana Sumaiya Tahmina Nusrat`,
  `Muhammad Mohammed Ahmed Ali Hassan Hussain Bilal Imran Usman Tariq Zubair Shafiq Abdul Rahim Kamal Faisal`,
  `Khan Ahmed Hussain Malik Iqbal Mahmood Akhtar Begum Bibi Khatun Rahman Islam Uddin Miah Chowdhury Siddiqui Qureshi
   Butt Raja Mirza Haque Ul-Haq Shah`,
);

const indian = latin(
  55,
  `Priya Anjali Pooja Neha Kavita Sunita Deepa Lakshmi Meera Harpreet Gurpreet Manpreet Jaspreet Nisha Hetal Bhavna`,
  `Raj Amit Sanjay Vikram Arjun Rahul Suresh Ramesh Karthik Harjit Gurdeep Baljit Kuldip Nikhil Jignesh Dhruv`,
  `Patel Shah Singh Kaur Sharma Gupta Kumar Mehta Desai Joshi Nair Iyer Reddy Rao Gill Sandhu Dhillon Grewal D'Souza
   Fernandes Pillai Mistry Subramaniam Venkataraghavan`,
);

const westAfrican = latin(
  55,
  `Ngozi Chioma Adaeze Blessing Folake Títílayọ̀ Ọmọ́tọ́lá Abimbola Akosua Abena Adwoa Efua Esi Aminata Fatou Precious`,
  `Chinedu Emeka Obinna Olúwaṣeun Babátúndé Ayọ̀délé Ṣẹ́gun Kwame Kofi Kwabena Yaw Emmanuel Ousmane Mamadou Godwin`,
  `Okafor Adeyemi Adébáyọ̀ Ọlátúnjí Okonkwo Eze Nwosu Balogun Mensah Owusu Boateng Asante Osei Appiah Agyemang Diallo
   N'Diaye N'Guessan Traoré Kamara Sesay Conteh Oyelaran-Williams`,
);

const eastAfrican = latin(
  45,
  `Amina Hodan Sahra Ayaan Ifrah Hibo Selamawit Hiwot Meron Rahel Wanjiku Achieng Nakato Grace Tendai Rutendo`,
  `Abdi Mohamed Ahmed Yusuf Liban Guled Tesfay Yonas Dawit Filmon Kamau Otieno Okello Musa Tatenda Farai`,
  `Abdi Hassan Warsame Jama Farah Nur Osman Ali Haile Gebremariam Tekle Woldemichael Mwangi Odhiambo Ochieng Mukasa
   Ssekandi Moyo Ncube Ndlovu`,
  undefined,
  'g g f',
);

const arabic = latin(
  30,
  `Layla Noor Huda Yasmin Rania Samar Zahra Dalal Hanan Iman Shirin Parisa Golnaz Rozhin`,
  `Omar Khalid Mustafa Mahmoud Yousef Karim Samir Tarek Haider Ali Reza Hamid Rebaz Karwan`,
  `Al-Hassan Al-Masri El-Sayed Haddad Khoury Nasser Saleh Hamdan Al-Jabouri Ben_Salah Bouazizi Mohammadi Hosseini
   Rezaei Abdulrahman Barzani Al_Shammari`,
);

const baltic = latin(
  20,
  `Rasa Jūratė Eglė Daiva Rūta Kristīne Līga Ilze Inga Žaneta`,
  `Tomas Mindaugas Andrius Giedrius Darius Jānis Andris Mārtiņš Artūrs Žydrūnas`,
  `Kazlauskas Jankauskas Petrauskas Žukauskas Bērziņš Kalniņš Ozoliņš Liepiņš`,
  `Kazlauskienė Jankauskaitė Petrauskienė Žukauskaitė Bērziņa Kalniņa Ozoliņa Liepiņa`,
);

const centralEuropean = latin(
  28,
  `Jana Petra Zuzana Kateřina Ildikó Zsófia Ágnes Katalin Marija Ivana Adelina Besa`,
  `Jan Tomáš Ondřej Jiří László Gábor Zoltán István Nikola Dragan Arben Ilir`,
  `Novák Svoboda Dvořák Horváth Varga Nagy Szabó Kovács Petrović Đorđević Hoxha Krasniqi`,
  `Nováková Svobodová Dvořáková Horváthová Varga Nagy Szabó Kovács Petrović Đorđević Hoxha Krasniqi`,
);

const ukrainian = latin(
  24,
  `Olena Oksana Iryna Nataliia Tetiana Svitlana Kateryna Yuliia Daria Anastasiia`,
  `Oleksandr Andrii Serhii Dmytro Volodymyr Ihor Mykola Yurii Maksym Viktor`,
  `Shevchenko Kovalenko Bondarenko Tkachenko Kravchuk Melnyk Zelinskyi Rudenko Polishchuk Solovyov`,
  `Shevchenko Kovalenko Bondarenko Tkachenko Kravchuk Melnyk Zelinska Rudenko Polishchuk Solovyova`,
);

const spanish = latin(
  22,
  `Lucía María_José Carmen Ana_Belén Itziar Nuria Begoña Yolanda Ximena Guadalupe`,
  `José_Luis Juan_Carlos Álvaro Iñaki Jesús Ángel Andrés Íñigo Óscar Santiago`,
  `García_López Martínez Fernández_Díaz Muñoz Núñez_Peña Ibáñez de_la_Fuente Etxeberria Quispe Restrepo Zúñiga`,
);

const turkish = latin(
  18,
  `Ayşe Elif Zeynep Gülşen Özlem Büşra Çiğdem Şule Havva`,
  `Mehmet Mustafa Emre Yiğit Oğuz Çağlar Ömer Şükrü İbrahim`,
  `Yılmaz Kaya Demir Çelik Şahin Öztürk Aydın Güneş Doğan Kılıç`,
);

const western = latin(
  22,
  `Anneke Françoise Zoë Noémie Chiara Giulia Jürgen-Marie Käthe Åsa Linnéa Saskia Hélène`,
  `François Jérôme Loïc Matteo Giuseppe Jürgen Björn Søren Pieter Joost Étienne René`,
  `van_der_Berg van_'t_Hoff D'Angelo Dell'Acqua Lefèvre Dubois Müller Schröder Groß Sjöberg Nygård Østergaard Rossi
   L'Hôpital de_Vries`,
);

const vietnamese = latin(
  14,
  `Thị_Hương Thị_Lan Ngọc_Ánh Thu_Hà Mỹ_Duyên Thanh_Thảo`,
  `Văn_Hùng Minh_Đức Quốc_Bảo Anh_Tuấn Đình_Phúc Hữu_Nghĩa`,
  `Nguyễn Trần Lê Phạm Huỳnh Phan Vũ Đặng Bùi Đỗ`,
  undefined,
  'f g',
);

const chineseRomanised = latin(
  18,
  `Ka-yan Wing-sze Hoi-ching Suk-yin Grace_Mei-ling Mei Xiaoling Yuting Jing Li`,
  `Chi-keung Ho-yin Tsz-hin Ka-ho Jason_Wai-lun Wei Jun Haoran Zhiqiang Ming`,
  `Chan Wong Cheung Lam Leung Ng Yeung Wang Li Zhang Liu Ou-Yang Xu`,
);

const filipinoAndCaribbean = latin(
  20,
  `Maricel Rowena Jocelyn Cherry_Mae Analyn Shakira Latoya Marie-Claire Shonelle Rosalind`,
  `Jomar Rodel Jun-jun Reynaldo Ernesto Devon Winston Jean-Pierre Kemar Sylvester`,
  `Dela_Cruz Reyes Bautista Santos-Garcia Macaraeg Baptiste Joseph St._Hilaire Toussaint Cummings Beckford Ignace`,
);

const otherScripts: readonly NameStock[] = [
  written(
    'Arabic',
    24,
    'g f',
    'فاطمة مريم زينب نور سارة هدى ليلى رانيا شیرین سمیرا عائشة',
    'محمد أحمد علي عمر خالد يوسف مصطفى حسن حسین رضا عبد_الرحمن',
    'الحسن المصري حداد الخوري ناصر صالح الجبوري محمدی احمدی بن_سالم خان الزهراء',
  ),
  written(
    'Hebrew',
    5,
    'g f',
    'שרה רבקה רחל לאה מרים אסתר נועה תמר',
    'דוד משה יוסף אברהם יעקב איתן נועם שמואל',
    'כהן לוי מזרחי פרץ ביטון בן־דוד פרידמן שפירא',
  ),
  written(
    'Greek',
    6,
    'g f',
    'Μαρία Ελένη Κατερίνα Σοφία Αγγελική Βασιλική',
    'Γιώργος Δημήτρης Κώστας Νίκος Παναγιώτης Ιωάννης',
    'Παπαδόπουλος Γεωργίου Οικονόμου Νικολαΐδης Χατζηγιάννης Αλεξίου',
    'Παπαδοπούλου Γεωργίου Οικονόμου Νικολαΐδου Χατζηγιάννη Αλεξίου',
  ),
  written(
    'Cyrillic',
    10,
    'g f',
    'Олена Наталія Оксана Ірина Юлія Тетяна',
    'Олександр Андрій Сергій Дмитро Ігор Євген',
    'Шевченко Коваленко Бондаренко Мельник Їжак Ґонтар Зелінський',
    'Шевченко Коваленко Бондаренко Мельник Їжак Ґонтар Зелінська',
  ),
  written(
    'Cyrillic',
    6,
    'g f',
    'Мария Светлана Елена Гергана Цветелина Виктория',
    'Алексей Михаил Иван Георги Димитър Николай',
    'Иванов Петров Димитров Николов Соколов Стоянов',
    'Иванова Петрова Димитрова Николова Соколова Стоянова',
  ),
  written(
    'Devanagari',
    8,
    'g f',
    'प्रिया अंजलि सुनीता कविता लक्ष्मी संगीता',
    'अमित राहुल संजय विक्रम श्याम कृष्ण',
    'शर्मा गुप्ता सिंह श्रेष्ठ थापा गुरुङ पटेल राई',
  ),
  written(
    'Bengali',
    8,
    'g f',
    'ফাতেমা আয়েশা সুমাইয়া নুসরাত তাহমিনা শর্মিলা',
    'রহিম করিম আব্দুল মোহাম্মদ শফিক কামাল',
    'আহমেদ রহমান ইসলাম উদ্দিন চৌধুরী খাতুন মিয়া দাস',
  ),
  written(
    'Gurmukhi',
    8,
    'g f',
    'ਹਰਪ੍ਰੀਤ ਗੁਰਪ੍ਰੀਤ ਮਨਪ੍ਰੀਤ ਜਸਪ੍ਰੀਤ ਸਿਮਰਨ',
    'ਹਰਜੀਤ ਗੁਰਦੀਪ ਬਲਜੀਤ ਕੁਲਦੀਪ ਜਸਵੰਤ',
    'ਸਿੰਘ ਗਿੱਲ ਸੰਧੂ ਢਿੱਲੋਂ ਗਰੇਵਾਲ',
    'ਕੌਰ ਗਿੱਲ ਸੰਧੂ ਢਿੱਲੋਂ ਗਰੇਵਾਲ',
  ),
  written(
    'Tamil',
    7,
    'g f',
    'பிரியா லட்சுமி கவிதா மீனா தர்ஷினி சரண்யா',
    'கார்த்திக் சுரேஷ் ரமேஷ் அருண் முருகன் செந்தில்',
    'ராஜன் குமார் சுப்பிரமணியம் நடராஜன் சிவகுமார் பிள்ளை',
  ),
  written(
    'Ethiopic',
    7,
    'g f',
    'ሰላማዊት ሕይወት ራሔል ትዕግስት ሜሮን ብርሃን',
    'አበበ ዳዊት ዮናስ ተስፋዬ ኃይሌ ፍጹም',
    'በቀለ ገብረማርያም ተክሌ ወልደሚካኤል ኃይሉ ከበደ',
  ),
  written(
    'Thai',
    5,
    'g f',
    'สมหญิง อรทัย สุดารัตน์ ณัฐธิดา กัญญา',
    'สมชาย ประเสริฐ ณัฐพล วิชัย ธนกร',
    'ใจดี ศรีสุข แก้วมณี ทองคำ วงศ์สวัสดิ์',
  ),
  written(
    'Han',
    10,
    'fg',
    '芳 秀英 敏 静 嘉欣 詠琪 雨婷 美玲',
    '伟 强 志明 家豪 浩然 俊傑 建国 子軒',
    '王 李 张 刘 陳 黃 林 歐陽 吳',
  ),
  written(
    'Japanese',
    4,
    'f g',
    '美咲 陽子 さくら 真由美 あかり 恵',
    '健太 翔 大輔 拓也 ひろし 誠',
    '佐藤 鈴木 高橋 田中 渡邉 小林',
  ),
  written('Hangul', 4, 'fg', '민지 서연 지은 수진 은영 하윤', '민준 지훈 성호 동현 영수 준서', '김 이 박 최 정 남궁'),
];

/**
 * Weights add up to about 1,100, a tenth of it in other scripts than Latin, as in a provider with many ESOL learners.
 */
export const nameStocks: readonly NameStock[] = [
  english,
  irish,
  scottishAndWelsh,
  polish,
  romanian,
  portuguese,
  pakistaniAndBangladeshi,
  indian,
  westAfrican,
  eastAfrican,
  arabic,
  baltic,
  centralEuropean,
  ukrainian,
  spanish,
  turkish,
  western,
  vietnamese,
  chineseRomanised,
  filipinoAndCaribbean,
  ...otherScripts,
];

/** People who are registered with one name only. */
export const singleNames: readonly string[] = words(
  `Suharto Karthikeyan Meenakshi Sukarno Gulalai Zarmina Wahyuni Tenzin Dolma Rahmatullah Najibullah Priyanka Amanullah
   Zohra Mu'izz Nagarajan Pema Sutrisno முருகன் रमेश ፍቅርተ`,
);
