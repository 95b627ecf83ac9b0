"""Five papers on privacy of the shuffle model, done again: their figures, and the numbers that they print.

    python3 -m tombola_accountant.literature figure NAME|all|list [--format csv|svg] [-o FILE|FOLDER]
    python3 -m tombola_accountant.literature paper [all|000|001|002|003|004] [-o FOLDER] [--json]

Every bound is the library's (`bounds`); here stands what each figure and each claim asks of it.
"""
